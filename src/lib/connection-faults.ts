/** Sentences for Node's codes of failed connections, for the person who wrote the settings. */

const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing answers on this port: the port is wrong, or the server is down',
  ENOTFOUND: 'The host name is not known',
  EAI_AGAIN: 'The host name cannot be looked up at present',
  ETIMEDOUT: 'The server did not answer the connection in time',
  EHOSTUNREACH: 'The host cannot be reached',
  ENETUNREACH: 'The network of the host cannot be reached',
  DEPTH_ZERO_SELF_SIGNED_CERT: "The server's certificate is self-signed, so it cannot be trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "The server's certificate comes from an authority that is not known here",
  UNABLE_TO_GET_ISSUER_CERT: "The server's certificate comes from an authority that is not known here",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The server's certificate comes from an authority that is not known here",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The server does not send all certificates between its own and a known authority',
  CERT_HAS_EXPIRED: "The server's certificate has expired",
  CERT_NOT_YET_VALID: "The server's certificate is not valid yet: is a clock wrong?",
  CERT_REVOKED: "The server's certificate was withdrawn",
  ERR_TLS_CERT_ALTNAME_INVALID: "The server's certificate is for another name than this host",
  ERR_SSL_WRONG_VERSION_NUMBER: 'The server does not speak TLS on this port: set the encryption to starttls or none',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'The server does not speak TLS on this port: set the encryption to starttls or none',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'The server offers only old versions of TLS that are not safe (before 1.2)',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'The server offers only old versions of TLS that are not safe (before 1.2)',
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: 'The server offers only old versions of TLS that are not safe (before 1.2)',
};

/** The fault in words, with the system's own text; the error itself where there are no better words. */
export function connectionFaultInWords(error: Error): Error {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const words = FAULTS[code];
  if (words === undefined) return error;
  // OpenSSL's texts name source files and add nothing.
  const said = code.startsWith('ERR_SSL_') ? '' : ` (${error.message.trim().split('\n')[0]?.slice(0, 200)})`;
  return new Error(`${words}${said}`, { cause: error });
}
