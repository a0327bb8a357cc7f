/** Checks every import against the table, and that there are no cycles. */
import path from 'node:path';
import { programs, programsMay, modules } from './import-table.ts';
import { moduleOf, type Finding } from './project-files.ts';
import type { Import, SourceFile } from './source-file.ts';

const ADVICE = 'Move the code to a module that may, or pass what you need in from above; the table is import-table.ts.';

/** Imports that the table does not allow. */
export function findForbiddenImports(files: readonly SourceFile[]): Finding[] {
  return files.flatMap((file) =>
    file.imports.flatMap((found) => {
      const what = isRelative(found) ? judgeModule(file.path, found) : judgePackage(file.path, found);
      return what === undefined ? [] : { path: file.path, line: found.line, what };
    }),
  );
}

/** Cycles of files that import each other, type imports included; each is reported once, at its first file. */
export function findCycles(files: readonly SourceFile[]): Finding[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const done = new Set<string>();
  const trail: string[] = [];
  const findings: Finding[] = [];
  const visit = (file: SourceFile): void => {
    trail.push(file.path);
    for (const found of file.imports.filter(isRelative)) {
      const target = byPath.get(resolve(file.path, found));
      const start = target ? trail.indexOf(target.path) : -1;
      if (start >= 0) {
        const cycle = [...trail.slice(start), trail[start]].join(' -> ');
        findings.push({
          path: file.path,
          line: found.line,
          what: `closes a cycle: ${cycle}. Move what both need into a third file.`,
        });
      } else if (target && !done.has(target.path)) visit(target);
    }
    trail.pop();
    done.add(file.path);
  };
  for (const file of files) if (!done.has(file.path)) visit(file);
  return findings;
}

function judgeModule(file: string, found: Import): string | undefined {
  const [from, target] = [moduleOf(file), resolve(file, found)];
  const to = moduleOf(target);
  if (from === 'plugins') return judgePlugin(file, target);
  if (from === to) return undefined;
  if (programs.includes(from)) return judgeProgram(from, to);
  const rule = modules[from];
  if (!rule) return `lies in the module "${from}", which the import table does not know. Add the module to it.`;
  const place = rule.onlyFrom?.[to];
  if (place && !place.test(file)) return `may not import ${to} here, only files like ${place.source} may. ${ADVICE}`;
  if (allows(rule.may, to)) return undefined;
  if (!allows(rule.typesOf ?? [], to)) return `${from} may not import ${to} (${target}). ${ADVICE}`;
  return found.typeOnly ? undefined : `${from} may import only types of ${to}: write "import type".`;
}

function judgePlugin(file: string, target: string): string | undefined {
  const home = (name: string) => name.split('/').slice(0, 3).join('/');
  if (target === 'src/plugin-api/index.ts' || home(target) === home(file)) return undefined;
  return `a plugin may import only src/plugin-api/index.ts, its own files and npm packages, not ${target}.`;
}

function judgeProgram(from: string, to: string): string | undefined {
  if (!programs.includes(to) || programsMay[from]?.includes(to)) return undefined;
  return `${from} may not import ${to}: move what both need to scripts.`;
}

function judgePackage(file: string, { specifier }: Import): string | undefined {
  const module = moduleOf(file);
  return modules[module]?.packagesNever?.test(specifier)
    ? `${module} may not import the package ${specifier}. ${ADVICE}`
    : undefined;
}

function allows(list: readonly string[], module: string): boolean {
  return list.includes(module) || (module.startsWith('domain/') && list.includes('domain/*'));
}

function isRelative({ specifier }: Import): boolean {
  return specifier.startsWith('.');
}

function resolve(file: string, { specifier }: Import): string {
  return path.posix.join(path.posix.dirname(file), specifier);
}
