package host

import "github.com/codecell/codecell/schemas"

// CheckConfig refuses what a valid configuration may ask for and this version can't do (F6): a
// host that started anyway would only pretend. [Start] and [Up] begin with it. The error is a
// *schemas.Error that names the field.
func CheckConfig(c *schemas.Config) error {
	if c.Contract == schemas.Contract202607 {
		return schemas.Refuse("contract", `contract: "`+schemas.Contract202607+`" isn't offered by this version yet: leave the field out, or set "`+
			schemas.ContractCurrent+`"; programs then get the current globals and exec takes a title`)
	}
	return nil
}
