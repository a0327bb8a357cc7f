/** `npm run release -- keys <file>`, `npm run release -- pack --sign <file>`: makes a release that installations upgrade to over the API. */
import { makeKeys } from './release/make-keys.ts';
import { packRelease } from './release/pack-release.ts';
import { parseWords, runTool } from './support/run-tool.ts';
import { ToolError } from './support/tool-error.ts';

const USAGE = `Usage:
  npm run release -- keys <file>    makes a key pair; the private key is written into this new file
  npm run release -- pack --sign <file> [--out <file>] [--with-changes]
                                    makes an archive of the program, signed with the key in this file

The manual: docs/manual/upgrades.md`;

await runTool(async (words) => {
  console.log(await run(words));
  return 0;
});

async function run(words: readonly string[]): Promise<string> {
  const { values, positionals } = parse(words);
  const [command, file, ...more] = positionals;
  // `npm run` runs it in the folder of the program.
  const root = process.cwd();
  if (values.help || command === undefined) return USAGE;
  if (command === 'keys' && file !== undefined && more.length === 0) return makeKeys(file, root);
  if (command === 'pack' && file === undefined && values.sign !== undefined)
    return packRelease({ root, sign: values.sign, out: values.out, withChanges: values['with-changes'] });
  throw new ToolError(USAGE);
}

function parse(words: readonly string[]) {
  return parseWords(
    {
      args: [...words],
      allowPositionals: true,
      options: {
        sign: { type: 'string' },
        out: { type: 'string' },
        'with-changes': { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    },
    USAGE,
  );
}
