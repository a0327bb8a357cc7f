/** What `npm start` runs: a small process that starts the program (program.ts) and keeps it and the embedded database running. */
import { enableCompileCache } from 'node:module';
import path from 'node:path';

enableCompileCache(path.join(import.meta.dirname, '..', 'node_modules', '.cache', 'mailwright'));

const { keepProgram } = await import('./parent/keep-program.ts');
await keepProgram(path.join(import.meta.dirname, 'program.ts'));
