package cmd

import "github.com/spf13/cobra"

func newStoresCommand(a *app) *cobra.Command {
	return &cobra.Command{Use: "stores", Hidden: true}
}
