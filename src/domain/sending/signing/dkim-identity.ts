/** The nouns of this folder: whose signatures a message gets, and by which keys. */
import type { KeyObject } from 'node:crypto';

export const dkimAlgorithms = ['rsa-sha256', 'ed25519-sha256'] as const;
export type DkimAlgorithm = (typeof dkimAlgorithms)[number];

export interface DkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  readonly privateKey: KeyObject;
}

export interface DkimIdentity {
  /** The signing domain (`d=`), in ASCII. */
  readonly domain: string;
  /** A signature by each; receivers ignore those they do not know. */
  readonly keys: readonly DkimKey[];
}
