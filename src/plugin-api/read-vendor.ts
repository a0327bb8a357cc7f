/** Questions to a vendor's web interface that are answered in JSON, besides messages. */
import type { z } from 'zod';
import { askVendor, failureByStatus, type HttpVendor } from './http-driver.ts';
import { jsonOf, type VendorAnswer, type VendorRequest } from './vendor-http.ts';
import type { DriverOptions, SendingError } from './sending-driver.ts';

type ReadVendor = <T>(request: VendorRequest, shape: z.ZodType<T>) => Promise<T>;

export interface ReadableVendor extends Pick<HttpVendor, 'origin' | 'name'> {
  /** Of every request: how to log in. */
  readonly headers: Readonly<Record<string, string>>;
  /** As `HttpVendor.failureOf`. */
  failureOf?(answer: VendorAnswer): SendingError | undefined;
}

/** A body is JSON unless the request says otherwise. Throws a sentence when the vendor answers no, or something that has not this shape. */
export function readVendor(options: DriverOptions, { headers, failureOf, ...vendor }: ReadableVendor): ReadVendor {
  const { name } = vendor;
  const ask = askVendor(options, vendor);
  return async (request, shape) => {
    const type = request.body === undefined ? {} : { 'Content-Type': 'application/json' };
    const answer = await ask({ ...request, headers: { ...headers, ...type, ...request.headers } });
    if (answer.status < 200 || answer.status > 299) throw failureOf?.(answer) ?? failureByStatus(name, answer);
    const parsed = shape.safeParse(jsonOf(answer));
    if (!parsed.success) throw new Error(`${name} answered something else than its documents say.`);
    return parsed.data;
  };
}
