package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/schemas"
)

func (a *app) configCommand() *cobra.Command {
	config := &cobra.Command{
		Use:   "config",
		Short: "Look at configurations",
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	config.AddCommand(&cobra.Command{
		Use:   "check [FILE]",
		Short: "List everything that is wrong with a configuration",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := a.configPath
			if path == "" {
				path = a.env("CODECELL_CONFIG")
			}
			if path == "" {
				path = "codecell.json5"
			}
			if len(args) == 1 {
				path = args[0]
			}
			return a.checkConfig(path)
		},
	})
	return config
}

func (a *app) checkConfig(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("can't read the configuration: %w", err)
	}
	problems := schemas.Check(b, path)
	if len(problems) == 0 {
		// What can be seen only from where the file stands.
		if problem := checkPlaces(path); problem != nil {
			problems = append(problems, *problem)
		}
	}
	if a.json {
		a.printJSON(map[string]any{"ok": len(problems) == 0, "problems": append([]schemas.Error{}, problems...)})
	} else {
		for i := range problems {
			fmt.Fprintln(a.out, problems[i].Message)
		}
		if len(problems) == 0 {
			fmt.Fprintln(a.out, path+": ok")
		}
	}
	if len(problems) > 0 {
		return exit(exitUsage)
	}
	return nil
}

// checkPlaces looks for folders that the configuration names.
func checkPlaces(path string) *schemas.Error {
	config, err := schemas.LoadConfig(path)
	if err != nil {
		var e *schemas.Error
		if errors.As(err, &e) {
			return e
		}
		return schemas.Refuse("", err.Error())
	}
	if root := config.Workspace.Root; root != "" {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return schemas.Refuse("workspace.root", fmt.Sprintf("%s: workspace.root: %s is not a folder: create it, or name another", path, root))
		}
	}
	return nil
}
