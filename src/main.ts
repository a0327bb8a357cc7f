/** The program. Everything else is loaded after Node was told where it keeps what it has compiled. */
import { enableCompileCache } from 'node:module';
import path from 'node:path';

// A start that finds it needs half the time, and never loads the 20 MB that take the types off our files. Where it
// cannot be written, every start is a first one.
enableCompileCache(path.join(import.meta.dirname, '..', 'node_modules', '.cache', 'mailwright'));

const { runProgram } = await import('./app/run-program.ts');
await runProgram();
