/**
 * Networks of mail gateways, whose scanners open messages and follow links from there; no people browse there. Only networks that
 * their owners publish; most scanners run on rented machines, and are recognised by their behaviour. To update it, compare with
 * the page named at each.
 */
export interface GatewayNetwork {
  readonly owner: string;
  /** The owner's publication. */
  readonly source: string;
  readonly cidrs: readonly string[];
}

export const GATEWAY_NETWORKS: readonly GatewayNetwork[] = [
  {
    owner: 'Microsoft Exchange Online Protection',
    source: 'learn.microsoft.com, "Office 365 URLs and IP address ranges", Exchange Online, row 10',
    cidrs: [
      '40.92.0.0/15',
      '40.107.0.0/16',
      '52.100.0.0/14',
      '104.47.0.0/17',
      '2a01:111:f400::/48',
      '2a01:111:f403::/48',
    ],
  },
  {
    owner: 'Proofpoint',
    source: 'proofpoint.my.site.com, "Support information", networks of its services',
    cidrs: ['62.209.50.0/24', '67.231.144.0/20', '91.209.104.0/24', '208.84.64.0/22', '208.86.200.0/22'],
  },
  {
    owner: 'Barracuda Email Gateway Defense',
    source: 'campus.barracuda.com, "IP Analysis - Inbound"',
    cidrs: ['209.222.80.0/21'],
  },
];
