package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"
)

// version is set by the build.
var version = "0.1.0"

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			platform := runtime.GOOS + "/" + runtime.GOARCH
			if a.json {
				a.printJSON(map[string]string{"version": version, "go": runtime.Version(), "platform": platform})
				return nil
			}
			fmt.Fprintf(a.out, "codecell %s (%s, %s)\n", version, runtime.Version(), platform)
			return nil
		},
	}
}
