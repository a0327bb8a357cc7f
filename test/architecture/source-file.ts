/** What the checks need from a source file's syntax tree: imports, exports, functions, casts. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { parseSync, Visitor, type Node, type ParseResult } from 'oxc-parser';

export interface Import {
  readonly specifier: string;
  readonly line: number;
  /** Type imports do not exist at run time. */
  readonly typeOnly: boolean;
}

export interface FunctionSpan {
  /** Undefined for a function that is only an argument. */
  readonly name: string | undefined;
  readonly line: number;
  readonly lines: number;
}

export interface ExportedFunction {
  readonly name: string;
  readonly line: number;
  /** Without a last, optional one: that is the named object of options already. */
  readonly parameters: number;
  /** An action: its first parameter is `ctx`. */
  readonly isVerb: boolean;
  readonly documented: boolean;
}

export interface SourceFile {
  /** From the root of the project, with slashes. */
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly Import[];
  readonly functions: readonly FunctionSpan[];
  readonly exportedFunctions: readonly ExportedFunction[];
  /** Lines of `any`. */
  readonly anys: readonly number[];
  /** Lines of casts other than `as const`. */
  readonly casts: readonly number[];
  readonly defaultExport: number | undefined;
  /** Only re-exports. */
  readonly isBarrel: boolean;
  readonly opensWithComment: boolean;
}

type LineOf = (offset: number) => number;

/** Parses one file; a syntax error is an error here too. */
export function readSourceFile(root: string, file: string): SourceFile {
  const source = readFileSync(path.join(root, file), 'utf8');
  const parsed = parseSync(file, source);
  const fault = parsed.errors[0];
  if (fault) throw new Error(`${file}: ${fault.message}`);
  const lineOf = lineFinder(source);
  const statements = parsed.program.body;
  const passesOn = (statement: Node) =>
    statement.type === 'ExportAllDeclaration' ||
    (statement.type === 'ExportNamedDeclaration' && statement.source !== null);
  const defaultExport = statements.find((statement) => statement.type === 'ExportDefaultDeclaration');
  return {
    path: file,
    lines: source.trimEnd().split('\n').length,
    imports: [...staticImports(parsed, lineOf), ...scatteredImports(parsed, lineOf)],
    functions: findFunctions(parsed, lineOf),
    exportedFunctions: findExportedFunctions(parsed, lineOf),
    ...findTypeEscapes(parsed, lineOf),
    defaultExport: defaultExport && lineOf(defaultExport.start),
    isBarrel: statements.length > 0 && statements.every(passesOn),
    opensWithComment: /^(#!.*\n)?\s*\/[*/]/.test(source),
  };
}

function lineFinder(source: string): LineOf {
  const starts = [0];
  for (let at = source.indexOf('\n'); at !== -1; at = source.indexOf('\n', at + 1)) starts.push(at + 1);
  return (offset) => {
    let low = 0;
    let high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if ((starts[middle] ?? 0) <= offset) low = middle;
      else high = middle;
    }
    return low + 1;
  };
}

function staticImports({ program }: ParseResult, lineOf: LineOf): Import[] {
  return program.body.flatMap((statement) => {
    if (statement.type === 'ImportDeclaration') {
      const typed = (specifier: (typeof statement.specifiers)[number]) =>
        'importKind' in specifier && specifier.importKind === 'type';
      const typeOnly =
        statement.importKind === 'type' || (statement.specifiers.length > 0 && statement.specifiers.every(typed));
      return { specifier: statement.source.value, line: lineOf(statement.start), typeOnly };
    }
    if (
      statement.type === 'ExportAllDeclaration' ||
      (statement.type === 'ExportNamedDeclaration' && statement.source)
    ) {
      const typeOnly =
        statement.exportKind === 'type' ||
        (statement.type === 'ExportNamedDeclaration' &&
          statement.specifiers.length > 0 &&
          statement.specifiers.every(({ exportKind }) => exportKind === 'type'));
      return { specifier: statement.source?.value ?? '', line: lineOf(statement.start), typeOnly };
    }
    return [];
  });
}

/** `import('x')` as an expression and as a type. A name that is computed cannot be judged here. */
function scatteredImports({ program }: ParseResult, lineOf: LineOf): Import[] {
  const found: Import[] = [];
  new Visitor({
    ImportExpression({ source, start }) {
      if (source.type !== 'Literal' || typeof source.value !== 'string') return;
      found.push({ specifier: source.value, line: lineOf(start), typeOnly: false });
    },
    TSImportType({ source, start }) {
      found.push({ specifier: source.value, line: lineOf(start), typeOnly: true });
    },
  }).visit(program);
  return found;
}

function findFunctions({ program }: ParseResult, lineOf: LineOf): FunctionSpan[] {
  const names = new Map<number, string>();
  const found: FunctionSpan[] = [];
  const add = ({ start, end }: { start: number; end: number }, name = names.get(start)) =>
    found.push({ name, line: lineOf(start), lines: lineOf(end) - lineOf(start) + 1 });
  new Visitor({
    VariableDeclarator({ id, init }) {
      if (init && id.type === 'Identifier') names.set(init.start, id.name);
    },
    MethodDefinition({ key, value }) {
      names.set(value.start, key.type === 'Identifier' || key.type === 'PrivateIdentifier' ? key.name : 'method');
    },
    FunctionDeclaration: (node) => add(node, node.id?.name ?? 'default'),
    FunctionExpression: (node) => add(node),
    ArrowFunctionExpression: (node) => add(node),
  }).visit(program);
  return found;
}

function findExportedFunctions({ program, comments }: ParseResult, lineOf: LineOf): ExportedFunction[] {
  const docEnds = new Set(comments.filter(({ value }) => value.startsWith('*')).map(({ end }) => lineOf(end)));
  return program.body.flatMap((statement) => {
    if (statement.type !== 'ExportNamedDeclaration' || statement.declaration?.type !== 'FunctionDeclaration') return [];
    const { id, params } = statement.declaration;
    const line = lineOf(statement.start);
    const first = params[0];
    const isVerb = first?.type === 'Identifier' && first.name === 'ctx';
    const last = params.at(-1);
    const hasOptions =
      last?.type === 'AssignmentPattern' || (last?.type === 'Identifier' && 'optional' in last && last.optional);
    const parameters = params.length - (hasOptions ? 1 : 0);
    return { name: id?.name ?? '', line, parameters, isVerb, documented: docEnds.has(line - 1) };
  });
}

function findTypeEscapes({ program }: ParseResult, lineOf: LineOf): { anys: number[]; casts: number[] } {
  const anys: number[] = [];
  const casts: number[] = [];
  new Visitor({
    TSAnyKeyword: ({ start }) => void anys.push(lineOf(start)),
    TSAsExpression({ typeAnnotation: type, start }) {
      const isConst =
        type.type === 'TSTypeReference' && type.typeName.type === 'Identifier' && type.typeName.name === 'const';
      if (!isConst) casts.push(lineOf(start));
    },
    TSTypeAssertion: ({ start }) => void casts.push(lineOf(start)),
  }).visit(program);
  return { anys, casts };
}
