/** Whether this machine can run Mailwright; if not, the message says what to do. */
import { SetupError } from './step.mjs';

/** From this version on Node runs TypeScript without a flag; needed where npm has no Node for the platform. */
const OWN_NODE_MIN = [22, 18];

/** True where the Node that runs the program comes with the packages. */
export function nodeIsBundled() {
  return process.platform === 'linux' && ['x64', 'arm64'].includes(process.arch);
}

/** Throws when no start can succeed. Called only when something has to be set up, so it may take a moment. */
export function checkPlatform() {
  if (process.platform === 'win32') {
    throw new SetupError(
      'Mailwright runs on Linux and macOS. On Windows, run it inside WSL (https://aka.ms/wsl) or Docker.',
    );
  }
  if (nodeIsBundled() && !usesGlibc()) {
    throw new SetupError(
      'This Linux uses musl (Alpine?). The Node and the PostgreSQL that come with Mailwright need glibc:\n' +
        'use a Debian, Ubuntu or Fedora system or image, for example node:24-bookworm-slim.',
    );
  }
  if (!nodeIsBundled() && !ownNodeIsNewEnough()) {
    throw new SetupError(
      `On ${process.platform} (${process.arch}) Mailwright uses the Node of the machine, and needs ${OWN_NODE_MIN.join('.')} ` +
        `or later; this is ${process.versions.node}.\nInstall a current one from https://nodejs.org, then run the same command again.`,
    );
  }
}

function usesGlibc() {
  return process.report.getReport().header.glibcVersionRuntime !== undefined;
}

function ownNodeIsNewEnough() {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  return major > OWN_NODE_MIN[0] || (major === OWN_NODE_MIN[0] && minor >= OWN_NODE_MIN[1]);
}
