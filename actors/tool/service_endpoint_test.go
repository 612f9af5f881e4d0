package tool

import "testing"

// A misspelt flag doesn't count as one that isn't there, which would permit: the tool is left out, and it is said why.
func TestSpec_U3_Case49_MisspeltFlags(t *testing.T) {
	for flag, want := range map[string]string{
		"": "", "true": "", "false": "",
		"True": `has tool "pay", whose codecell.approval is "True", and not true or false`,
		"yes":  `has tool "pay", whose codecell.approval is "yes", and not true or false`,
	} {
		var got string
		pay, _, err := admitEndpoint("shop", "shop.pay", map[string]string{metaTool: "pay", metaApproval: flag})
		if err != nil {
			got = err.Error()
		}
		if got != want || pay.Approval != (flag == "true") {
			t.Errorf("%q: approval %v, %s; want %s", flag, pay.Approval, got, want)
		}
	}
	for _, key := range []string{metaReplaySafe, metaIdempotent, metaSequential} {
		if _, _, err := admitEndpoint("shop", "shop.pay", map[string]string{metaTool: "pay", key: "1"}); err == nil {
			t.Errorf("%s may be anything", key)
		}
	}
}
