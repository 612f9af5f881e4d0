package host

import (
	"context"
	"sync"

	"github.com/codecell/codecell/wasm"
)

// imagesKept is how many catalogs' images are kept for the next run or generation.
const imagesKept = 16

// image gives the memory of a catalog.
func (d *directory) image(install []byte) (*wasm.Image, error) {
	if image := d.images.get(string(install)); image != nil {
		return image, nil
	}
	image, err := d.engine.NewImage(context.Background(), install)
	if err != nil {
		return nil, err
	}
	d.images.put(string(install), image)
	return image, nil
}

// imageCache keeps the last images, by the text that they were made from.
type imageCache struct {
	limit int

	mu    sync.Mutex
	texts []string // oldest first
	table map[string]*wasm.Image
}

func (c *imageCache) get(text string) *wasm.Image {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.table[text]
}

func (c *imageCache) put(text string, image *wasm.Image) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.table == nil {
		c.table = make(map[string]*wasm.Image)
	}
	if c.table[text] == nil {
		c.texts = append(c.texts, text)
	}
	c.table[text] = image
	if len(c.texts) > c.limit {
		delete(c.table, c.texts[0])
		c.texts = c.texts[1:]
	}
}
