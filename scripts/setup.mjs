/**
 * Runs before `npm start` and, with --dev, before `npm test`: installs packages and generates code, only where
 * something is missing or has changed. Plain JavaScript without packages, because it runs before there are any and
 * on whatever Node (20.19 or later) the machine has.
 */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
if (major < 20 || (major === 20 && minor < 19)) {
  console.error(
    `Mailwright needs Node 20.19 or later; this is ${process.versions.node} (${process.execPath}).\n` +
      `Install a current one from https://nodejs.org, then run the same command again.`,
  );
  process.exit(1);
}

// Imported after the check: an older Node would fail on their syntax before it could print a useful message.
const { planSetup, runSetup } = await import('./setup/plan.mjs');
const { SetupError } = await import('./setup/step.mjs');
const { withLock } = await import('./setup/lock.mjs');

const dev = process.argv.includes('--dev');
try {
  // Checking needs no lock: a step records its success last, so a running one never looks finished.
  if (planSetup(dev).length > 0) await withLock(() => runSetup(dev));
} catch (error) {
  if (!(error instanceof SetupError)) throw error;
  console.error(`\n${error.message}`);
  process.exit(1);
}
