/** Says in words what Node's codes mean when a connection cannot be had: the reader is whoever wrote the settings. */

const FAULTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'Nothing answers on this port: the port is wrong, or the server is down',
  ENOTFOUND: 'The host name is not known',
  EAI_AGAIN: 'The host name could not be looked up just now',
  ETIMEDOUT: 'The server did not answer the connection in time',
  EHOSTUNREACH: 'There is no way to the host',
  ENETUNREACH: 'There is no way to the network of the host',
  DEPTH_ZERO_SELF_SIGNED_CERT: "The server's certificate is signed by itself and not to be trusted",
  SELF_SIGNED_CERT_IN_CHAIN: "The server's certificate comes from an authority that is not known here",
  UNABLE_TO_GET_ISSUER_CERT: "The server's certificate comes from an authority that is not known here",
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: "The server's certificate comes from an authority that is not known here",
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'The server does not send all certificates between its own and a known authority',
  CERT_HAS_EXPIRED: "The server's certificate has run out",
  CERT_NOT_YET_VALID: "The server's certificate is not valid yet: is a clock wrong?",
  CERT_REVOKED: "The server's certificate was withdrawn",
  ERR_TLS_CERT_ALTNAME_INVALID: "The server's certificate is for another name than this host",
  ERR_SSL_WRONG_VERSION_NUMBER: 'The server does not speak TLS here: encryption starttls belongs to this port, or none',
  ERR_SSL_PACKET_LENGTH_TOO_LONG:
    'The server does not speak TLS here: encryption starttls belongs to this port, or none',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'The server has only versions of TLS that are no longer safe (before 1.2)',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'The server has only versions of TLS that are no longer safe (before 1.2)',
  ERR_SSL_NO_PROTOCOLS_AVAILABLE: 'The server has only versions of TLS that are no longer safe (before 1.2)',
};

/** The fault in words, with what the system said; the error itself where there are no better words. */
export function connectionFaultInWords(error: Error): Error {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const words = FAULTS[code];
  if (words === undefined) return error;
  // What OpenSSL says names its source files, and nothing that the words do not.
  const said = code.startsWith('ERR_SSL_') ? '' : ` (${error.message.trim().split('\n')[0]?.slice(0, 200)})`;
  return new Error(`${words}${said}`, { cause: error });
}
