package cmd

import "github.com/spf13/cobra"

func newArchiveRestoreCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "restore", Hidden: true}
}
