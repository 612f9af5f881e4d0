package catalog

import "strings"

// Names that no tool gets as they are. They are reserved whether or not the thing behind them is on,
// so that a feature switched on doesn't rename a tool; but for those of the swarm, which many tools have.
var (
	// reservedWords can't be identifiers, in sloppy or strict code or inside an async function,
	// or mean something else there.
	reservedWords = words(`
		break case catch class const continue debugger default delete do else enum export extends false finally for
		function if import in instanceof new null return super switch this throw true try typeof var void while with
		implements interface let package private protected public static yield await async eval arguments undefined NaN
		Infinity require`)
	// prototypeNames are found on every object, or are asked of any object by the language:
	// a tool of that name would be called by accident.
	prototypeNames = words(`
		constructor prototype __proto__ hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf
		__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ then toJSON`)
	// guestGlobals are what the guest API defines (G11).
	guestGlobals = words(`
		catalog MCP API nodes namespaces results store load text json yield_control setTimeout clearTimeout console
		TextEncoder TextDecoder skills`)
	// swarmGlobals are there with the swarm only (G10).
	swarmGlobals = words(`agents phase log`)
	// languageGlobals are ECMAScript's own.
	languageGlobals = words(`
		globalThis isFinite isNaN parseFloat parseInt decodeURI decodeURIComponent encodeURI encodeURIComponent escape
		unescape AggregateError Array ArrayBuffer AsyncDisposableStack BigInt BigInt64Array BigUint64Array Boolean DataView
		Date DisposableStack Error EvalError FinalizationRegistry Float16Array Float32Array Float64Array Function Int8Array
		Int16Array Int32Array InternalError Intl Iterator Map Number Object Promise Proxy RangeError ReferenceError RegExp
		Set SharedArrayBuffer String SuppressedError Symbol SyntaxError Temporal TypeError Uint8Array Uint8ClampedArray
		Uint16Array Uint32Array URIError WeakMap WeakRef WeakSet WebAssembly Atomics JSON Math Reflect`)
	// serverMembers are what an MCP server's object has besides its tools (M3).
	serverMembers = words(`$api $serverName resources prompts`)
	// serverNames would give a server the file of all servers (M4).
	serverNames = words(`index`)
)

// privatePrefix marks names that are the product's own.
const privatePrefix = "__codecell"

func words(text string) map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(text) {
		set[word] = true
	}
	return set
}

// globalReserved tells whether a tool may not be the global of that name (C4).
func globalReserved(name string) bool {
	return reservedWords[name] || prototypeNames[name] || guestGlobals[name] || languageGlobals[name]
}

// toolReserved tells whether a tool may not be the member of that name of its server's object (M1).
func toolReserved(name string) bool {
	return reservedWords[name] || prototypeNames[name] || serverMembers[name]
}

// serverReserved tells whether a server may not be the member of that name of MCP (M1).
func serverReserved(name string) bool {
	return reservedWords[name] || prototypeNames[name] || serverNames[name]
}
