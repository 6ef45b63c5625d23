// Numbers for people: three digits and a unit, as `stepscope analyze` prints them.

function threeDigits(value) {
  const size = Math.abs(value);
  if (size < 9.995) return value.toFixed(2);
  return size < 99.95 ? value.toFixed(1) : value.toFixed(0);
}

export function time(ns) {
  const size = Math.abs(ns);
  if (size < 999.5) return Math.round(ns) + " ns";
  if (size < 999.5e3) return threeDigits(ns / 1e3) + " µs";
  return size < 999.5e6 ? threeDigits(ns / 1e6) + " ms" : threeDigits(ns / 1e9) + " s";
}

export function percent(fraction) {
  if (fraction > 0 && fraction < 0.0005) return "< 0.1 %";  // there is some
  return (fraction * 100).toFixed(1) + " %";
}

export function count(value) {
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, ",");
}

// A rate per second.
export function rate(value) {
  if (value === 0) return "0";
  if (value < 0.005) return "< 0.01";  // there is some
  return value >= 99.95 ? count(value) : threeDigits(value);
}

export function bytes(value) {
  const units = [" B", " kB", " MB", " GB", " TB"];
  let unit = 0;
  for (; Math.abs(value) >= 999.5 && unit + 1 < units.length; ++unit) value /= 1000;
  return (unit === 0 ? value.toFixed(0) : threeDigits(value)) + units[unit];
}

export function times(factor) {
  return factor.toFixed(factor < 9.95 ? 1 : 0) + " ×";
}

export function signed(text, value) {
  return value > 0 ? "+" + text : text.replace("-", "−");
}

// Replaces "step" in a phrase by the unit: "of the step" becomes "of the call".
export function inUnits(phrase, unit) {
  return phrase.replace(/\bstep(s?)\b/g, `${unit}$1`)
      .replace(/\bStep(s?)\b/g, `${unit.charAt(0).toUpperCase()}${unit.slice(1)}$1`);
}

export function plural(number, one, many = one + "s") {
  return count(number) + " " + (number === 1 ? one : many);
}
