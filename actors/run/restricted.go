package run

import "github.com/codecell/codecell/schemas"

// blocked refuses a call that a restricted run may not make, in the words of the tool's executor, which refuses it too
// if its configuration says so.
func blocked(decide func(*schemas.Tool) error, t *schemas.Tool, name string) *schemas.CallError {
	if decide == nil {
		return nil
	}
	why := decide(t)
	if why == nil {
		return nil
	}
	return &schemas.CallError{
		Code: schemas.CallInvalidInput, Location: "policy", Effect: schemas.NotStarted,
		Message: name + " is blocked by policy: " + why.Error(),
	}
}
