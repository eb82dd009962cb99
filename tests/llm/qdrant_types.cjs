// Judges exchanges with a Qdrant by the types that its makers generated from its OpenAPI.
//
//   node qdrant_types.cjs NODE_MODULES <exchanges >verdicts
//
// An exchange a line: {"method", "target", "content_type", "body", "status", "answer"}; without a body the request has
// none. A verdict a line: {"operation", "faults"}; operation is null where there is no such path.
const fs = require('fs');
const path = require('path');

const modules = process.argv[2];
const ts = require(path.join(modules, 'typescript'));
const SCHEMA = path.join(modules, '@qdrant/js-client-rest/dist/types/openapi/generated_schema.d.ts');

// The generator writes `"nullable": true` as an alternative that any object fits, so that nothing could be wrong.
const readable = (text) => text.replace(/Record<string, unknown> \| null/g, 'null');

function load() {
  const options = {strict: true, types: []};
  const host = ts.createCompilerHost(options);
  const read = host.readFile;
  host.readFile = (name) => (name === SCHEMA ? readable(read(name)) : read(name));
  const program = ts.createProgram([SCHEMA], options, host);
  const source = program.getSourceFile(SCHEMA);
  // What the compiler does not understand is `any` to it, and fits everything.
  const problems = [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  if (problems.length > 0) throw new Error(ts.flattenDiagnosticMessageText(problems[0].messageText, '\n'));
  const checker = program.getTypeChecker();
  const exported = checker.getExportsOfModule(checker.getSymbolAtLocation(source));
  return {checker, paths: checker.getDeclaredTypeOfSymbol(exported.find((symbol) => symbol.name === 'paths'))};
}

const {checker, paths} = load();

function member(type, ...names) {
  for (const name of names) {
    const symbol = type && checker.getPropertyOfType(type, name);
    type = symbol && checker.getNonNullableType(checker.getTypeOfSymbol(symbol));
  }
  return type;
}

// --- values

function isLiteral(value, type) {
  if (type.flags & ts.TypeFlags.String) return typeof value === 'string';
  if (type.flags & ts.TypeFlags.Number) return typeof value === 'number';
  if (type.flags & ts.TypeFlags.Null) return value === null;
  if (type.flags & ts.TypeFlags.BooleanLiteral) return value === (type.intrinsicName === 'true');
  return type.isLiteral() && value === type.value;
}

// The alternative that is wrong at the deepest place is what was meant.
function faultsOfUnion(value, type, place) {
  const each = type.types.map((one) => faultsOf(value, one, place));
  return each.find((faults) => faults.length === 0) ??
      each.reduce((best, faults) => (faults[0].place.length > best[0].place.length ? faults : best));
}

function faultsOf(value, type, place) {
  if (type.flags & ts.TypeFlags.Unknown) return [];
  if (type.isUnion()) return faultsOfUnion(value, type, place);
  const expected = [{place, fault: `expected ${checker.typeToString(type)}`}];
  if (!(type.flags & (ts.TypeFlags.Object | ts.TypeFlags.Intersection))) return isLiteral(value, type) ? [] : expected;
  if (checker.isArrayType(type)) {
    const [element] = checker.getTypeArguments(type);
    return Array.isArray(value) ? value.flatMap((each, at) => faultsOf(each, element, `${place}[${at}]`)) : expected;
  }
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? faultsOfObject(value, type, place) :
                                                                                expected;
}

function faultsOfObject(object, type, place) {
  const others = checker.getIndexInfoOfType(type, ts.IndexKind.String);
  const faults = [];
  for (const symbol of checker.getPropertiesOfType(type)) {
    const there = Object.hasOwn(object, symbol.name);
    const optional = symbol.flags & ts.SymbolFlags.Optional;
    if (!there && !optional) faults.push({place: `${place}.${symbol.name}`, fault: 'missing'});
  }
  for (const [name, value] of Object.entries(object)) {
    const at = `${place}.${name}`;
    const symbol = checker.getPropertyOfType(type, name);
    if (symbol) {
      faults.push(...faultsOf(value, checker.getTypeOfSymbol(symbol), at), ...faultsOfFormat(value, symbol, at));
    } else {
      faults.push(...(others ? faultsOf(value, others.type, at) : [{place: at, fault: 'unknown'}]));
    }
  }
  return faults;
}

// Types know only numbers; what kind is in the comment.
function faultsOfFormat(value, symbol, place) {
  const comment = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const whole = typeof value !== 'number' || !/^Format: uint/m.test(comment) || (Number.isInteger(value) && value >= 0);
  return whole ? [] : [{place, fault: 'expected a whole number'}];
}

// --- exchanges

// `/a/b` goes before `/a/{name}`.
function templateOf(target) {
  const fits = (template) => new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`).test(target);
  const parameters = (template) => template.split('{').length;
  return checker.getPropertiesOfType(paths).map((symbol) => symbol.name).filter(fits)
      .sort((a, b) => parameters(a) - parameters(b))[0];
}

function faultsOfQuery(query, operation) {
  const type = member(operation, 'parameters', 'query');
  return [...query].flatMap(([name, text]) => {
    const symbol = type && checker.getPropertyOfType(type, name);
    if (!symbol) return [{place: `?${name}`, fault: 'unknown'}];
    const value = /^(true|false|\d+)$/.test(text) ? JSON.parse(text) : text;
    return faultsOf(value, checker.getTypeOfSymbol(symbol), `?${name}`);
  });
}

function faultsOfBody(exchange, operation) {
  if (!Object.hasOwn(exchange, 'body')) return [];
  const type = member(operation, 'requestBody', 'content', exchange.content_type);
  return type ? faultsOf(exchange.body, type, 'body') : [{place: 'body', fault: `not as ${exchange.content_type}`}];
}

function faultsOfAnswer({status, answer}, operation) {
  const responses = member(operation, 'responses');
  const response = member(responses, String(status)) ?? member(responses, `${String(status)[0]}XX`);
  const type = member(response, 'content', 'application/json');
  return type ? faultsOf(answer, type, 'answer') : [{place: 'status', fault: 'unknown'}];
}

function judge(exchange) {
  const {pathname, searchParams} = new URL(exchange.target, 'http://qdrant');
  const template = templateOf(pathname);
  const symbol = template && checker.getPropertyOfType(member(paths, template), exchange.method.toLowerCase());
  if (!symbol) return {operation: null, faults: [`${exchange.method} ${pathname}: no such operation`]};
  const operation = checker.getTypeOfSymbol(symbol);
  const faults = [...faultsOfQuery(searchParams, operation), ...faultsOfBody(exchange, operation),
                  ...faultsOfAnswer(exchange, operation)];
  return {
    operation: symbol.valueDeclaration.type.indexType.literal.text,
    faults: faults.map(({place, fault}) => `${place}: ${fault}`),
  };
}

for (const line of fs.readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  console.log(JSON.stringify(judge(JSON.parse(line))));
}
