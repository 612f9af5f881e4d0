package schemas

// Mode is how a model reaches its tools (ch. 3, F1, F3).
type Mode string

const (
	// ModeDirect: the model sees every tool.
	ModeDirect Mode = "direct"
	// ModeCode: the model sees exec and wait, and its programs see the tools.
	ModeCode Mode = "code"
	// ModeSearch: the model sees tools with which it searches, describes and calls the others (ch. 19).
	ModeSearch Mode = "search"
	// ModeAuto: the configuration decides, by agent and model. It is asked for, and never the answer.
	ModeAuto Mode = "auto"
)

// ParseMode reads a mode as people write it.
func ParseMode(text string) (Mode, error) {
	switch m := Mode(text); m {
	case ModeDirect, ModeCode, ModeSearch, ModeAuto:
		return m, nil
	}
	return "", Refuse("mode", `mode must be "direct", "search", "code" or "auto", not "`+text+`"`)
}
