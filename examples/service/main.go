// Service is a NATS micro service whose endpoint is a tool: what makes it one is the endpoint's metadata. It knows nothing of
// codecell but those keys.
//
//	codecell up --listen 127.0.0.1:4222 --config with-services.json5    # services: ["warehouse"]
//	go run ./examples/service nats://127.0.0.1:4222
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

var stock = map[string]int{"bolt": 1200, "nut": 0}

func main() {
	url := nats.DefaultURL
	if len(os.Args) > 1 {
		url = os.Args[1]
	}
	conn, err := nats.Connect(url)
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	service, err := micro.AddService(conn, micro.Config{Name: "warehouse", Version: "1.0.0"})
	if err != nil {
		log.Fatal(err)
	}
	err = service.AddEndpoint("stock", micro.HandlerFunc(level), micro.WithEndpointSubject("warehouse.stock"),
		micro.WithEndpointMetadata(map[string]string{
			"codecell.tool":       "stock_level",
			"codecell.replaySafe": "true", // it only reads
			"description":         "Tells how many pieces of an article are in stock",
			"inputSchema":         `{"type": "object", "required": ["article"], "properties": {"article": {"type": "string"}}}`,
			"outputSchema":        `{"type": "object", "required": ["pieces"], "properties": {"pieces": {"type": "integer"}}}`,
		}))
	if err != nil {
		log.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("serving", service.Info().ID)

	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	<-interrupted
}

// level gets the arguments as JSON, which were checked against the schema, and answers in JSON.
func level(req micro.Request) {
	var in struct {
		Article string `json:"article"`
	}
	if err := json.Unmarshal(req.Data(), &in); err != nil {
		_ = req.Error("400", err.Error(), nil)
		return
	}
	pieces, known := stock[in.Article]
	if !known {
		_ = req.Error("404", "no article "+in.Article, nil) // the program's call rejects with this
		return
	}
	_ = req.RespondJSON(map[string]int{"pieces": pieces})
}
