package agent

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/codecell/codecell/schemas"
)

// Provider is an endpoint that speaks OpenAI's chat completions.
type Provider struct {
	// Name and Model are "provider/model" in the configuration. Model is sent as it is.
	Name, Model string
	// URL is the base of the API, such as "https://api.openai.com/v1"; Key is sent as a bearer token if there is one.
	URL, Key string
	// NoStream asks for whole answers instead of streams.
	NoStream bool
	// Silence is how long the provider may send nothing. Retries is how often a request that did nothing yet is sent again.
	Silence time.Duration
	Retries int
	// HTTP is nil for the default client.
	HTTP *http.Client
}

// NewProvider is the provider of the configuration, with the key that the environment has.
func NewProvider(c *schemas.ProviderConfig, env func(string) string) Provider {
	return Provider{
		Name: c.ProviderName(), Model: c.Model, URL: c.URL, Key: strings.TrimSpace(env(c.KeyEnv())), Silence: c.Silence(), Retries: c.Retries(),
	}
}

// Ref is the model's key in the configuration. A model that has a slash in its name, as those of routers do, is its own.
func (p *Provider) Ref() string {
	if strings.Contains(p.Model, "/") {
		return p.Model
	}
	return p.Name + "/" + p.Model
}

// minSecret is the length from which a key is one: local servers are given words such as "none".
const minSecret = 8

// maxHint is how much of a key's beginning tells nothing: most begin alike.
const maxHint = 4

// secret is the key, if it is one.
func (p *Provider) secret() string {
	if len(p.Key) < minSecret {
		return ""
	}
	return p.Key
}

// quote is a text of the provider's, which may be cut off, as one line of an error.
func (p *Provider) quote(text string) string {
	text = p.mask(text)
	if at := unfinished(text, p.secret()); len(text)-at > maxHint {
		text = text[:at]
	}
	return readable(text)
}

// mask takes the key out of a text, whoever put it there (B5).
func (p *Provider) mask(text string) string {
	if secret := p.secret(); secret != "" {
		return strings.ReplaceAll(text, secret, "[the provider's key]")
	}
	return text
}

// check refuses what can't be asked.
func (p *Provider) check() error {
	const like = `, such as "https://api.openai.com/v1"`
	u, err := url.Parse(p.URL)
	switch {
	case p.URL == "":
		return schemas.Refuse("provider.url", "provider.url is missing: give the base of an API that speaks chat completions"+like)
	case err != nil:
		return schemas.Refuse("provider.url", "provider.url can't be read as a URL: give one"+like) // the error would show what is in it
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return schemas.Refuse("provider.url", fmt.Sprintf("provider.url must be a URL of http or https with a host%s, not %q", like, u.Redacted()))
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return schemas.Refuse("provider.url", "provider.url may have no user, password, query or fragment: the key belongs into the environment "+
			"variable that provider.apiKeyEnv names")
	case p.Model == "":
		return schemas.Refuse("provider.model", "provider.model is missing: name the model to ask, as the provider calls it")
	case strings.ContainsFunc(p.Key, unicode.IsControl):
		return schemas.Refuse("provider.key", "the provider's key has a line break or a control character in it, and can't be sent: check the environment variable")
	}
	return nil
}
