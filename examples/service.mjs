// A NATS micro service whose endpoint is a tool: what makes it one is the endpoint's metadata.
//
//   codecell up --listen 127.0.0.1:4222 --config with-services.json5    # services: ["weather"]
//   npm install @nats-io/transport-node @nats-io/services
//   node service.mjs nats://127.0.0.1:4222

import { connect } from "@nats-io/transport-node";
import { Svcm } from "@nats-io/services";

const connection = await connect({ servers: process.argv[2] ?? "nats://127.0.0.1:4222" });
const service = await new Svcm(connection).add({ name: "weather", version: "1.0.0" });

service.addEndpoint("forecast", {
  subject: "weather.forecast",
  metadata: {
    "codecell.tool": "forecast",
    "codecell.replaySafe": "true", // it only reads
    description: "Tells the weather of the coming days in a city",
    inputSchema: JSON.stringify({
      type: "object",
      required: ["city"],
      properties: { city: { type: "string" }, days: { type: "integer", minimum: 1, maximum: 7, default: 3 } },
    }),
    outputSchema: JSON.stringify({
      type: "object",
      required: ["city", "days"],
      properties: { city: { type: "string" }, days: { type: "array", items: { type: "string" } } },
    }),
  },
  handler(error, message) {
    if (error) return;
    const { city, days } = message.json(); // checked against the schema, defaults filled in
    if (city === "Atlantis") {
      message.respondError(404, `no weather station in ${city}`); // the program's call rejects with this
      return;
    }
    message.respond(JSON.stringify({ city, days: Array.from({ length: days }, (_, n) => (n % 2 ? "rain" : "sun")) }));
  },
});

await connection.flush();
console.log("serving", service.info().id);
