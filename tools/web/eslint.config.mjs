import js from "@eslint/js";

export default [
  { ignores: ["page/uplot.js"] },
  js.configs.recommended,
  {
    rules: {
      // Types are checked by tsc, names too.
      "no-undef": "off",
      "no-unused-vars": ["error", { argsIgnorePattern: "^_" }],
      eqeqeq: "error",
      "no-var": "error",
      "prefer-const": "error",
    },
  },
];
