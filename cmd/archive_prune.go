package cmd

import "github.com/spf13/cobra"

func newArchivePruneCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "prune", Hidden: true}
}
