/** The measurable style rules: sizes, names, comments, what is never written. */
import { isProduct, moduleOf, type Finding } from './project-files.ts';
import type { SourceFile } from './source-file.ts';

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;
/** `ctx` and two more, or three where there is no `ctx`: after that names say more than positions. */
const PARAMETERS_MAX = 3;
const KEBAB_CASE = /^[a-z0-9]+(-[a-z0-9]+)*(\.[a-z]+)*\.tsx?$/;
/** The one index that only re-exports: what plugins see of the program. */
const BARREL = 'src/plugin-api/index.ts';

/** Everything that is wrong with a single file. */
export function checkStyle(file: SourceFile): Finding[] {
  const at = (line: number, what: string): Finding => ({ path: file.path, line, what });
  return [
    ...(file.lines > FILE_LINES_MAX
      ? [at(1, `has ${file.lines} lines, more than ${FILE_LINES_MAX}: split it by purpose.`)]
      : []),
    ...(KEBAB_CASE.test(file.path.split('/').at(-1) ?? '') ? [] : [at(1, 'is not named in kebab-case.')]),
    ...file.anys.map((line) => at(line, 'says any: name the type, or take unknown and check it.')),
    ...(moduleOf(file.path) === 'test' ? [] : checkCode(file, at)),
    ...(isProduct(file) ? checkProduct(file, at) : []),
  ];
}

type At = (line: number, what: string) => Finding;

function checkCode(file: SourceFile, at: At): Finding[] {
  const long = file.functions.filter(({ lines }) => lines > FUNCTION_LINES_MAX);
  return [
    ...long.map(({ name = 'a function', line, lines }) =>
      at(line, `${name} has ${lines} lines, more than ${FUNCTION_LINES_MAX}: take steps out of it.`),
    ),
    ...(file.opensWithComment ? [] : [at(1, 'does not open with a comment: say what the file is for.')]),
  ];
}

function checkProduct(file: SourceFile, at: At): Finding[] {
  const crowded = file.exportedFunctions.filter(({ parameters }) => parameters > PARAMETERS_MAX);
  const silent = file.exportedFunctions.filter(({ isVerb, documented }) => isVerb && !documented);
  return [
    ...(file.isBarrel && file.path !== BARREL
      ? [at(1, 'only passes on what others export: import from the files themselves.')]
      : []),
    ...(file.defaultExport === undefined ? [] : [at(file.defaultExport, 'exports a default: give it a name.')]),
    ...crowded.map(({ name, line, parameters }) =>
      at(line, `${name} takes ${parameters} parameters, more than ${PARAMETERS_MAX}: make them one named object.`),
    ),
    ...silent.map(({ name, line }) => at(line, `${name} has no /** sentence */ that says what it promises.`)),
  ];
}

/** The value below which `share` of the numbers lie. */
export function quantile(numbers: readonly number[], share: number): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}
