/**
 * Amounts as Stripe counts them: whole minor units of a currency in small letters. Stripe and ISO 4217 disagree about some currencies (ISK,
 * UGX, MGA, those with three digits, and rules for HUF and TWD), which are not taken: an amount that is wrong by a factor of a hundred is worse.
 */
import { GatewayError } from '../../../src/plugin-api/index.ts';

/** Two digits in ISO 4217 and at Stripe (docs.stripe.com/currencies). */
const TWO_DIGITS =
  'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BWP BYN BZD CAD CDF CHF CNY COP CRC CVE CZK DKK DOP DZD EGP ETB EUR FJD FKP GBP GEL GIP GMD GTQ GYD HKD HNL HTG IDR ILS INR JMD KES KGS KHR KYD KZT LAK LBP LKR LRD LSL MAD MDL MKD MMK MNT MOP MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SEK SGD SHP SOS SRD SZL THB TJS TOP TRY TTD TZS UAH USD UYU UZS WST XCD YER ZAR ZMW';
/** None in both. */
const NO_DIGITS = 'BIF CLP DJF GNF JPY KMF KRW PYG RWF VND VUV XAF XOF XPF';

export const CURRENCIES: readonly string[] = `${TWO_DIGITS} ${NO_DIGITS}`.split(' ');
const known = new Set(CURRENCIES);

/** As Stripe writes it. Throws GatewayError for a currency of which we are not sure. */
export function toStripeCurrency(code: string): string {
  if (!known.has(code)) throw new GatewayError('refused', `Stripe payments in ${code} are not supported here.`);
  return code.toLowerCase();
}

/** As the host writes it. */
export function toIsoCurrency(stripe: string): string {
  return stripe.toUpperCase();
}
