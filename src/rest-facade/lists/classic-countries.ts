/**
 * The countries as clients of the classic dialect number them (decision D51): deployed programs have these numbers built in, so
 * the order never changes; a new country goes to the end. Number 142 was the Netherlands Antilles, which are no more: it is
 * Curaçao, their largest part. The numbers from 233 on are ours.
 */
import { classicNumbers } from '../classic-numbers.ts';

const CODES = (
  'AF AL DZ AS AD AO AI AG AR AM AW AU AT AZ BH BD BB BY BE BZ BJ BM BT BO BA BW BR IO VG BN ' +
  'BG BF MM BI KH CM CA CV KY CF TD CL CN CO KM CK CR CI HR CU CY CZ CD DK DJ DM DO EC EG SV ' +
  'GQ ER EE ET FK FO FM FJ FI FR GF PF GA GE DE GH GI GR GL GD GP GU GT GN GW GY HT HN HK HU ' +
  'IS IN ID IR IQ IE IL IT JM JP JO KZ KE KI XK KW KG LA LV LB LS LR LY LI LT LU MO MK MG MW ' +
  'MY MV ML MT MH MQ MR MU YT MX MD MC MN ME MS MA MZ NA NR NP NL CW NC NZ NI NE NG NU NF KP ' +
  'MP NO OM PK PW PS PA PG PY PE PH PL PT PR QA CG RE RO RU RW BL SH KN MF PM VC WS SM ST SA ' +
  'SN RS SC SL SG SK SI SB SO ZA KR ES LK LC SD SR SZ SE CH SY TW TJ TZ TH BS GM TL TG TK TO ' +
  'TT TN TR TM TC TV UG UA AE GB US UY VI UZ VU VA VE VN WF YE ZM ZW AQ AX BQ BV CC CX EH GG ' +
  'GS HM IM JE PN SJ SS SX TF UM'
).split(' ');

export const classicCountries = classicNumbers(CODES, 'is not in the table of countries');
