/** Finds the steps that are due and runs them in order. */
import { codegenIsDue, runCodegen } from './codegen.mjs';
import { installPackages, packagesToInstall } from './packages.mjs';
import { checkPlatform } from './platform.mjs';
import { generatePrisma, prismaIsDue } from './prisma.mjs';

/** The steps that are due now, by name; an empty list means that the program can start. */
export function planSetup(dev) {
  if (packagesToInstall(dev)) return ['packages'];
  return [...(prismaIsDue() ? ['prisma'] : []), ...(dev && codegenIsDue() ? ['codegen'] : [])];
}

/** Runs the steps that are due. Checks again before each step: another set-up may have done it meanwhile. */
export async function runSetup(dev) {
  checkPlatform();
  const packages = packagesToInstall(dev);
  if (packages) await installPackages(packages);
  if (prismaIsDue()) await generatePrisma();
  if (dev && codegenIsDue()) await runCodegen();
}
