// A week's report for a coffee roaster: which city earned what, and what its courier needs to know.
//
// The orders are behind one MCP server (files), the weather behind another (everything). None of it passes
// through the model: the program reads, joins and counts, and only the report comes back.

// 1. Find out what there is. Handles of a search can be called; here we only look at them.
const found = await catalog.search("read several files at once", { limit: 3 });
text(`Found: ${found.map((tool) => tool.callableName).join(", ")}`);

// 2. Read a declaration, as one would before using an unknown server. This makes no call.
const { content: declaration } = await API.read("mcp/files.d.ts");
text(`Declared: ${declaration.match(/readTextFile\([\s\S]*?\): Promise<.*/)[0]}`);

// 3. Call tools of both servers, all at once.
const cities = ["New York", "Chicago", "Los Angeles"];
const fileOf = (city) => `notes/${city.toLowerCase().replaceAll(" ", "-")}.md`;
const read = async (path) => (await MCP.files.readTextFile({ path })).structuredContent.content;

const [orders, products, customers, notes, ...weather] = await Promise.all([
  read("orders.json").then(JSON.parse),
  read("products.json").then(JSON.parse),
  read("customers.csv").then(parseCSV),
  Promise.all(cities.map((city) => read(fileOf(city)))),
  ...cities.map((location) => MCP.everything.getStructuredContent({ location })),
]);

// 4. Join them.
const price = new Map(products.map(({ sku, cents }) => [sku, cents]));
const customer = new Map(customers.map((row) => [row.id, row]));
const total = ({ lines }) => lines.reduce((sum, { sku, quantity }) => sum + price.get(sku) * quantity, 0);

const revenue = (some) => some.reduce((sum, order) => sum + total(order), 0);
const dollars = (cents) => `$${(cents / 100).toFixed(2)}`;

const byCity = cities.map((city) => orders.filter((order) => customer.get(order.customer).city === city));
const report = cities.map((city, i) => {
  const local = byCity[i];
  const { temperature, conditions } = weather[i].structuredContent;
  return {
    city,
    orders: local.length,
    revenue: dollars(revenue(local)),
    best: local.toSorted((a, b) => total(b) - total(a))[0].id,
    weather: `${temperature} °C, ${conditions.toLowerCase()}`,
    notes: notes[i].split("\n").filter((line) => line.startsWith("- ")).map((line) => line.slice(2)),
  };
});
json(report.map(({ city, orders, revenue, weather }) => ({ city, orders, revenue, weather })));

// 5. Hand the turn back. The cell is parked here, variables and all, until somebody waits for it.
await yield_control("the report is ready to be checked");

// 6. Still here: nothing was read again. Let the other server add two of the sums.
const [a, b] = byCity.map(revenue);
const sum = await MCP.everything.getSum({ a, b });
text(sum.content[0].text);

return { week: orders[0].placed, total: dollars(revenue(orders)), report };

function parseCSV(source) {
  const [head, ...rows] = source.trim().split("\n").map((line) => line.split(","));
  return rows.map((row) => Object.fromEntries(head.map((name, i) => [name, row[i]])));
}
