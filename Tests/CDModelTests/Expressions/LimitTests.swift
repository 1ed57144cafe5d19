import CDModel
import Foundation
import Testing

/// Texts of any length and nesting end in a tree or in an error, on the small stack of a secondary thread.
struct LimitTests {
  /// Runs work on a thread with the stack that secondary threads have on Apple's systems, or with half of it.
  private func onSmallStack<Result: Sendable>(
    isHalf: Bool, _ work: @escaping @Sendable () -> Result
  ) async -> Result {
    await withCheckedContinuation { continuation in
      let thread = Thread { continuation.resume(returning: work()) }
      thread.stackSize = (isHalf ? 256 : 512) * 1024 * Self.frameScale
      thread.start()
    }
  }

  /// How many times as large AddressSanitizer makes the frames of functions, where the tests run under it.
  private static let frameScale = dlsym(UnsafeMutableRawPointer(bitPattern: 0), "__asan_init") == nil ? 1 : 4

  /// Parses, prints, compares, hashes and lets go of a tree; what came of it.
  private func outcome(_ format: String, onHalfStack isHalf: Bool = false) async -> String {
    await onSmallStack(isHalf: isHalf) {
      do {
        let predicate = try FetchPredicate(format: format)
        let again = try FetchPredicate(format: predicate.canonicalText)
        guard again == predicate, again.hashValue == predicate.hashValue else { return "differs" }
        let checked = LibraryModel.checker.check(predicate, on: "Book")
        guard checked.predicate == predicate else { return "changed" }
        guard predicate.substituting(["x": nil]) == predicate else { return "substituted" }
        return "depth \(predicate.depth)"
      } catch {
        return "\(error)"
      }
    }
  }

  private func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

  /// How long the chains are. What calls itself for each part ends the thread: not even the least of frames, a return
  /// address and a saved register, has room on its stack as often.
  private static let most = 40_000 * frameScale

  /// Half as long on half the stack, since these texts take longest.
  @Test func longChainsAreFlat() async {
    func flat(_ format: String) async -> String { await outcome(format, onHalfStack: true) }
    let most = Self.most / 2
    #expect(await flat("a == 0" + times(most, " OR a == 1")) == "depth 4")
    #expect(await flat("a == 0" + times(most, " AND b != 1 OR a == 1")) == "depth 5")
    #expect(await flat("a == 0" + times(5_000, " + 1")) == "depth 3")
    #expect(await flat("a == 0" + times(5_000, " ?? b")) == "depth 4")
    #expect(await flat("a" + times(5_000, ".b") + " == 0") == "depth 3")
    #expect(await flat("a" + times(5_000, "[0]") + " == 0") == "depth 3")
    #expect(await flat("a IN {0" + times(most, ", 1") + "}") == "depth 3")
    #expect(await flat(times(5_000, "(a + ") + "1" + times(5_000, ")") + " == 1") != "differs")
  }

  @Test func parenthesesAndDoubleNegationsAddNoDepth() async {
    #expect(await outcome(times(Self.most, "(") + "a == 1" + times(Self.most, ")")) == "depth 3")
    #expect(await outcome(times(Self.most, "(") + "a" + times(Self.most, ")") + " == 1") == "depth 3")
    #expect(await outcome(times(Self.most, "NOT ") + "a == 1") == "depth 3")
    #expect(await outcome(times(Self.most + 1, "!") + "a == 1") == "depth 4")
    // An ambiguous parenthesis within each, which a second try would take 2^100 steps for.
    #expect(await outcome(times(100, "((") + "a" + times(100, ") + 1)") + " == 1") == "depth 4")
  }

  @Test func deepTreesAreRefused() async {
    let limit = "the expression is nested more than 100 levels deep"
    #expect(
      await outcome(times(Self.most, "{") + times(Self.most, "}") + " == 1")
        == "character \(Self.most - 100): \(limit)")
    #expect(await outcome(times(200, "-") + "a == 1") == "character 102: \(limit)")
    #expect(await outcome(times(200, "~") + "a == 1") == "character 102: \(limit)")
    #expect(await outcome(times(200, "sqrt(") + "a" + times(200, ")") + " == 1") == "character 506: \(limit)")

    #expect(await outcome(times(200, "a[") + "0" + times(200, "]") + " == 1") == "character 201: \(limit)")
    #expect(
      await outcome(times(200, "(a == 1 AND (b == 1 OR ") + "a == 1" + times(200, "))")).hasSuffix(limit))
  }

  @Test func unclosedNestingIsAnError() async {
    #expect(
      await outcome(times(Self.most, "("))
        == "character \(Self.most + 1): expected a comparison after '(', found end of text")
    #expect(
      await outcome(times(Self.most, "{") + "a == 1")
        == "character \(Self.most + 3): expected an operator or ',' or '}' after 'a', found '=='")
    #expect(
      await outcome(times(Self.most, "NOT "))
        == "character \(Self.most * 4 + 1): expected a comparison after 'NOT', found end of text")
  }

  @Test(arguments: [
    ("{", "}", " == 1"), ("sqrt(", ")", " == 1"), ("-", "", " == 1"), ("a[", "]", " == 1"),
    ("(1 + ", ")", " == 1"), ("CAST(", ", 'Int64', 0)", " == 1"), ("(b ?? ", ")", " == 1"),
    ("TERNARY(a == 1, ", ", 2)", " == 1"), ("SUBQUERY(", ", $x, $x == 1)", " == 1"),
    ("(a == 1 AND ", ")", ""), ("NOT (a == 1 OR ", ")", ""), ("TERNARY(a == ", ", 1, 2) == 3", ""),
    ("SUBQUERY(a, $x, b == ", ") == 3", ""),
  ])
  func deepestAcceptedTreesFitASmallStack(open: String, close: String, end: String) async {
    // The deepest nesting that is accepted, found by trying.
    var accepted = 0
    var outcomes: Set<String> = []
    for count in 1...100 {
      let inner = end.isEmpty && !open.hasPrefix("TERNARY") && !open.hasPrefix("SUB") ? "c == 1" : "c"
      let isPredicate = open.hasSuffix("== ")
      let text =
        isPredicate
        ? "a == " + times(count, open) + "c" + times(count, close.replacingOccurrences(of: " == 3", with: ""))
        : times(count, open) + inner + times(count, close) + end
      let result = await outcome(text)
      if result.hasPrefix("depth") { accepted = count }
      outcomes.insert(result.hasPrefix("depth") ? "parses" : result.hasSuffix("deep") ? "too deep" : result)
    }
    #expect(accepted >= 40)
    #expect(outcomes.isSubset(of: ["parses", "too deep"]))
  }
}
