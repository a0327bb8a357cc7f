/** What programs of this folder that take words have in common: their words are read, and a ToolError is told as its sentence. */
import { parseArgs, type ParseArgsConfig } from 'node:util';
import { ToolError } from './tool-error.ts';

/** Runs it; what it resolves to is the exit code. */
export async function runTool(work: (words: readonly string[]) => Promise<number>): Promise<void> {
  try {
    process.exitCode = await work(process.argv.slice(2));
  } catch (error) {
    if (error instanceof ToolError) console.error(error.message);
    else console.error(error instanceof Error ? error.stack : String(error));
    process.exitCode = 1;
  }
}

/** Throws ToolError with the usage for words that it does not know. */
export function parseWords<Config extends ParseArgsConfig>(
  config: Config,
  usage: string,
): ReturnType<typeof parseArgs<Config>> {
  try {
    return parseArgs(config);
  } catch (error) {
    throw new ToolError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
}
