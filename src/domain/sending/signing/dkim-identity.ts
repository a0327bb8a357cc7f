/** The nouns of this folder: the signatures of a message and their keys. */
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
  /** One signature per key; receivers ignore unknown kinds. */
  readonly keys: readonly DkimKey[];
}
