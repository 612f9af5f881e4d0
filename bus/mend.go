package bus

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// mendEvery is how often a server that can't write looks whether its folder can be written again.
const mendEvery = 2 * time.Second

// brokenWords are those by which the server's log says that a store is not written any more until JetStream starts
// anew. It has no other word for it.
var brokenWords = []string{"critical write error", "disabling JetStream", "will be DISABLED"}

// heard looks for trouble in what the server says of itself.
func (l *serverLog) heard(text string) {
	for _, words := range brokenWords {
		if strings.Contains(text, words) {
			select {
			case l.broken <- text:
			default: // known
			}
			return
		}
	}
}

// Problems says what is wrong with what the server keeps, for people.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.problem == "" {
		return nil
	}
	return []string{s.problem}
}

func (s *Server) setProblem(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.problem = text
}

// mend waits for trouble with the folder (it is full, or can't be written), and starts JetStream anew when the folder
// can be written again: the server itself would stay as it is until its end.
func (s *Server) mend(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.broken:
		}
		for broken := true; broken; {
			err := s.folder.writable()
			if err == nil {
				if err = s.restartStores(ctx); err == nil {
					broken = false
					continue
				}
			}
			s.setProblem(fmt.Sprintf("bus.storeDir %s can't be written, so nothing new is kept: %v: free some space or mend its "+
				"permissions; nothing that was kept before is lost", s.options.StoreDir, err))
			select {
			case <-ctx.Done():
				return
			case <-time.After(mendEvery):
			}
		}
		s.setProblem("")
	}
}

// restartStores closes what the server keeps, and reads it again from the folder.
func (s *Server) restartStores(ctx context.Context) error {
	config := s.stores
	config.StoreDir = s.options.StoreDir
	if err := s.nats.ShutdownJetStream(); err != nil {
		return err
	}
	if err := s.nats.EnableJetStream(&config); err != nil {
		return err
	}
	select { // what broke before is mended with it
	case <-s.broken:
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	if err := s.makeStores(ctx); err != nil {
		return err
	}
	s.options.Logger.Info("the bus keeps things again", "folder", s.options.StoreDir)
	return nil
}
