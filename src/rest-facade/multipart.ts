/** Multipart bodies (RFC 7578): fields become parameters; the first file, or all of them, may be streamed. */
import type { IncomingMessage } from 'node:http';
import { finished } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import busboy from 'busboy';
import type { Parameter } from './request-parameters.ts';
import { RestError, invalid } from './errors.ts';

const FIELDS_MAX = 5_000;
const FIELD_NAME_BYTES_MAX = 1_000;
/** Files of a form, wanted or skipped: as many as addresses in `files`. */
export const FILES_MAX = 20;

export interface IncomingFile {
  /** The name of its parameter. */
  readonly field: string;
  readonly name: string;
  readonly contentType: string;
  /** Read it once. Throws RestError 422 when the body breaks off. */
  readonly content: AsyncIterable<unknown>;
  /**
   * The next file of a row that takes several; what was not read of this one is skipped. Undefined after the last. Throws RestError
   * 422 when the body breaks off.
   */
  next(): Promise<IncomingFile | undefined>;
}

/** How many files of a form a row takes as streams; others are skipped. */
export type FilesTaken = 'none' | 'one' | 'several';

interface Multipart {
  readonly parameters: readonly Parameter[];
  readonly file?: IncomingFile;
  /** The fields after the file, when everything was read. */
  later(): Promise<readonly Parameter[]>;
}

interface Limits {
  readonly files: FilesTaken;
  /** The limit for all fields together. */
  readonly bytesMax: number;
  /** The error beyond that. */
  readonly tooLong: RestError;
}

/** Resolves at the first file when one is taken, else at the end of the body. Throws RestError 413 or 422. */
export function readMultipart(req: IncomingMessage, { files: taken, bytesMax, tooLong }: Limits): Promise<Multipart> {
  return new Promise((resolve, reject) => {
    const parser = openParser(req, bytesMax);
    const parameters: Parameter[] = [];
    let before: number | undefined;
    let bytes = 0;
    parser.on('field', (name, value, info) => {
      bytes += name.length + value.length;
      if (info.nameTruncated || info.valueTruncated || bytes > bytesMax)
        parser.destroy(info.nameTruncated ? tooLarge() : tooLong);
      else parameters.push([name, value]);
    });
    const ended = finished(parser).catch((error: unknown) => {
      throw error instanceof RestError ? error : broken();
    });
    const others = arrivals<IncomingFile>(ended);
    parser.on('file', (field, content, info) => {
      // A body that breaks off in a file emits an error on the file; without a listener it would end the process.
      content.on('error', () => undefined);
      if (taken === 'none' || (taken === 'one' && before !== undefined)) return void content.resume();
      const next = () => {
        // What was not read of it would keep the parser from the next file.
        content.resume();
        return others.next();
      };
      const file = { field, name: info.filename ?? '', contentType: info.mimeType, content: chunksOf(content), next };
      if (before !== undefined) return others.put(file);
      before = parameters.length;
      resolve({
        parameters: parameters.slice(0, before),
        file,
        later: async () => ended.then(() => parameters.slice(before)),
      });
    });
    parser.on('filesLimit', () => parser.destroy(tooManyFiles()));
    for (const limit of ['fieldsLimit', 'partsLimit'] as const) parser.on(limit, () => parser.destroy(tooLarge()));
    req.on('error', () => parser.destroy());
    req.on('aborted', () => parser.destroy());
    req.pipe(parser);
    ended.then(() => resolve({ parameters, later: () => Promise.resolve([]) }), reject);
  });
}

function openParser(req: IncomingMessage, bytesMax: number): busboy.Busboy {
  try {
    return busboy({
      headers: req.headers,
      defParamCharset: 'utf8',
      limits: {
        fieldSize: bytesMax,
        fields: FIELDS_MAX,
        fieldNameSize: FIELD_NAME_BYTES_MAX,
        files: FILES_MAX,
        // Other parts are skipped and only counted here.
        parts: FIELDS_MAX + FILES_MAX,
      },
    });
  } catch {
    throw invalid({ body: ['The multipart header names no boundary.'] });
  }
}

/** What comes one after the other: `next` waits for it, and answers undefined when all has come. */
function arrivals<T>(ended: Promise<void>) {
  const waiting: T[] = [];
  let wake: () => void = () => undefined;
  return {
    put(item: T): void {
      waiting.push(item);
      wake();
    },
    async next(): Promise<T | undefined> {
      if (waiting.length === 0) await Promise.race([ended, new Promise<void>((resolve) => (wake = resolve))]);
      return waiting.shift();
    },
  };
}

async function* chunksOf(content: Readable): AsyncGenerator {
  try {
    // Not destroyed on an early end: the connection still has to carry the answer.
    yield* content.iterator({ destroyOnReturn: false });
  } catch {
    throw broken();
  }
}

function broken(): RestError {
  return invalid({ body: ['The multipart body is broken or incomplete.'] });
}

function tooManyFiles(): RestError {
  return new RestError(413, { message: `A form may have ${FILES_MAX} files.` });
}

function tooLarge(): RestError {
  return new RestError(413, { message: 'The form has too many or too large fields.' });
}
