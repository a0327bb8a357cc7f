/** Runs before each test file, in a process that may have run others before. */
import { afterAll } from 'vitest';
import './check-statements.ts';
import { closeMade } from './after-file.ts';

// The first hook that a file has is the last that runs: what the file closes itself is closed by then.
afterAll(closeMade);
