/** What proves that an archive is the one that its maker published: a checksum and a signature, as inputs have them. */
import { z } from 'zod';
import { SIGNATURE_PATTERN } from './signature.ts';

export const sha256Input = z
  .string()
  .trim()
  .regex(/^[0-9a-fA-F]{64}$/, 'must be a SHA-256 checksum: 64 hexadecimal digits')
  .describe('64 hexadecimal digits.')
  .transform((text) => text.toLowerCase());

export const signatureInput = z
  .string()
  .trim()
  .regex(SIGNATURE_PATTERN, 'must be an Ed25519 signature: 64 bytes in base64')
  .describe('64 bytes in base64, with two equals signs at the end.');
