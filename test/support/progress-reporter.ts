/**
 * Writes down how the tests went while they run, a JSON line for each file that begins and each that ends, into the
 * file named by TEST_PROGRESS_FILE: a run that hangs or is killed has still told what passed and what never ended.
 */
import { appendFileSync } from 'node:fs';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';

const file = process.env['TEST_PROGRESS_FILE'];

function write(line: Readonly<Record<string, unknown>>): void {
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`);
}

/** Made by vitest, named on its command line. */
export default class ProgressReporter implements Reporter {
  onTestModuleStart(module: TestModule): void {
    write({ began: module.relativeModuleId });
  }

  onTestModuleEnd(module: TestModule): void {
    const tests = [...module.children.allTests()];
    const failed = tests.filter((test) => test.result().state === 'failed');
    const errors = module.errors().flatMap(sentencesOf);
    write({
      ended: module.relativeModuleId,
      passed: tests.filter((test) => test.result().state === 'passed').length,
      failures: failed.map((test) => ({
        test: test.fullName,
        errors: (test.result().errors ?? []).flatMap(sentencesOf),
      })),
      // A file that cannot be loaded, or whose hooks fail, fails without a failed test.
      ...(failed.length === 0 && !module.ok() ? { errors } : {}),
    });
  }
  onTestRunEnd(_modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    if (unhandled.length > 0) write({ ended: 'outside of any test', errors: unhandled.flatMap(sentencesOf) });
  }
}

/** The error's stack, and before it what has caused it: of a drawn value that is what is wrong. */
function sentencesOf({ message, stack, cause }: SerializedError): string[] {
  return [...(cause ? [`Caused by: ${cause.message}`] : []), stack ?? message];
}
