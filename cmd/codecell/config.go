package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/codecell/codecell/schemas"
)

// configHere is the configuration that is read from the current folder if none is named.
const configHere = "codecell.json5"

// configError is a configuration that can't be used.
type configError struct {
	first    *schemas.Error
	problems []schemas.Error
}

func (e *configError) Error() string { return e.first.Error() }
func (e *configError) Unwrap() error { return e.first }

// config reads the configuration of this command line.
func (a *app) config() (*schemas.Config, error) {
	path := a.configPath
	if path == "" {
		path = a.env("CODECELL_CONFIG")
	}
	if path == "" {
		if _, err := os.Stat(configHere); errors.Is(err, os.ErrNotExist) {
			return &schemas.Config{Bus: schemas.BusConfig{StoreDir: a.storeDir}}, nil
		}
		path = configHere
	}
	config, err := schemas.LoadConfig(path)
	var first *schemas.Error
	if !errors.As(err, &first) {
		if err == nil && a.storeDir != "" {
			config.Bus.StoreDir = a.storeDir
		}
		return config, err
	}
	all := []schemas.Error{*first}
	if b, err := os.ReadFile(path); err == nil {
		if found := schemas.Check(b, path); len(found) > 0 {
			all = found
		}
	}
	return nil, &configError{first: first, problems: all}
}

func (a *app) configCommand() *cobra.Command {
	config := &cobra.Command{
		Use:   "config",
		Short: "Look at configurations",
		Args:  cobra.NoArgs,
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
				path = configHere
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
			fmt.Fprintln(a.out, printable(problems[i].Message))
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

// checkPlaces looks for folders that the configuration names, and for what this version doesn't offer.
func checkPlaces(path string) *schemas.Error {
	config, err := schemas.LoadConfig(path)
	if err != nil {
		return asError(err)
	}
	if root := config.Workspace.Root; root != "" {
		if info, err := os.Stat(root); err != nil || !info.IsDir() {
			return schemas.Refuse("workspace.root", fmt.Sprintf("%s: workspace.root: %s is not a folder: create it, or name another", path, root))
		}
	}
	for i, folder := range config.Skills.Folders {
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			field := fmt.Sprintf("skills.folders[%d]", i)
			return schemas.Refuse(field, fmt.Sprintf("%s: %s: %s is not a folder: create it, or name another", path, field, folder))
		}
	}
	return nil
}
