package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/codecell/codecell/e2e/provider/chat"
	"github.com/codecell/codecell/e2e/provider/script"
)

// maxBody bounds a request: a catalog of thousands of tools fits.
const maxBody = 64 << 20

// provider answers requests.
type provider struct {
	play func(*chat.Request) (*chat.Reply, *script.Failure, []string)
	log  *chat.Log
	key  string
}

func (p *provider) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", p.models)
	mux.HandleFunc("POST /v1/chat/completions", p.complete)
	return mux
}

func (p *provider) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"scripted","object":"model","created":0,"owned_by":"e2e"}]}`)
}

// complete answers a request, and logs what became of it.
func (p *provider) complete(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var request *chat.Request
	if err == nil {
		request, err = chat.Parse(body)
	}
	n, logErr := p.log.Came(request)
	end := chat.Record{Request: n, Status: http.StatusOK}
	switch {
	case logErr != nil:
		err = logErr
		end.Status = http.StatusInternalServerError
	case err != nil:
		end.Status = http.StatusBadRequest
	case p.key != "" && r.Header.Get("Authorization") != "Bearer "+p.key:
		err = errors.New("incorrect API key provided")
		end.Status = http.StatusUnauthorized
	}
	if err != nil {
		end.Problems = []string{err.Error()}
		refuse(w, end.Status, err.Error())
	} else {
		err = p.answer(w, r, request, &end)
	}
	_ = p.log.Ended(end)
	if errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler) // the server's way to end a connection
	}
}

func (p *provider) answer(w http.ResponseWriter, r *http.Request, request *chat.Request, end *chat.Record) (err error) {
	reply, failure, problems := p.play(request)
	switch {
	case len(problems) > 0:
		end.Status, end.Problems = http.StatusUnprocessableEntity, problems
		refuse(w, end.Status, strings.Join(problems, "; "))
	case failure != nil:
		end.Status = failure.Status
		if failure.RetryAfter != "" {
			w.Header().Set("Retry-After", failure.RetryAfter)
		}
		refuse(w, failure.Status, failure.Message)
	default:
		end.Said = reply.Size()
		end.Pieces, err = reply.Send(r.Context(), w, request, end.Request)
		end.Gone = err != nil && !errors.Is(err, http.ErrAbortHandler)
	}
	return err
}

// refuse answers with an error as the API has it.
func refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"message": message, "type": "scripted", "code": nil}})
}
