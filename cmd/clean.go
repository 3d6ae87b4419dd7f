package cmd

import "github.com/spf13/cobra"

func newCleanCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "clean", Hidden: true}
}
