/**
 * `npm run plugin -- new acme/notes`, `npm run plugin -- test <folder>`, `npm run plugin -- pack <folder>`: what authors of plugins need.
 * It asks nothing, and works in an installation without development tools.
 */
import { newPlugin } from './plugin/new-plugin.ts';
import { packPlugin } from './plugin/pack-plugin.ts';
import { parseWords, runTool } from './support/run-tool.ts';
import { ToolError } from './support/tool-error.ts';
import { testPlugin } from './plugin/test-plugin.ts';

const USAGE = `Usage:
  npm run plugin -- new <vendor>/<name> [--path <folder>]   writes a working plugin with tests
  npm run plugin -- test <folder>                           runs its tests on an installation of their own
  npm run plugin -- pack <folder> [--out <file>] [--sign <key>] [--with-tests]
                                                            makes an archive that can be installed

The guide: docs/guides/write-a-plugin.md`;

await runTool(run);
// The code of a plugin was loaded here, and may have left timers.
process.exit();

async function run(words: readonly string[]): Promise<number> {
  const { values, positionals } = parse(words);
  const [command, subject, ...more] = positionals;
  if (values.help || command === undefined) return show(USAGE);
  if (subject === undefined || more.length > 0)
    throw new ToolError(`"${command}" needs one word after it.\n\n${USAGE}`);
  const dataDir = process.env['DATA_DIR'] || 'data';
  if (command === 'new') return show(await newPlugin(subject, { dataDir, folder: values.path }));
  if (command === 'test') return testPlugin(subject);
  if (command === 'pack')
    return show(await packPlugin(subject, { out: values.out, withTests: values['with-tests'], sign: values.sign }));
  throw new ToolError(`There is no command "${command}".\n\n${USAGE}`);
}

function show(text: string): number {
  console.log(text);
  return 0;
}

function parse(words: readonly string[]) {
  return parseWords(
    {
      args: [...words],
      allowPositionals: true,
      options: {
        path: { type: 'string' },
        out: { type: 'string' },
        sign: { type: 'string' },
        'with-tests': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    },
    USAGE,
  );
}
