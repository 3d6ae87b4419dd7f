package cmd

import "github.com/spf13/cobra"

func newMemoryCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "memory", Hidden: true}
}
