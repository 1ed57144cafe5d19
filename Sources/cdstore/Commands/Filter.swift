import ArgumentParser
import CDConsole
import CDModel
import CDRuntime
import Foundation

/// `cdstore filter`
struct Filter: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print the JSON lines of standard input that satisfy a condition.",
    discussion: """
      The command needs no store. Each line is a JSON value. The members of a JSON object are its properties, and a \
      missing member reads as nil.

      With --batch, each line is a request, {"where", "args", "variables", "objects": […]}. Each line of the \
      output is the answer to a request: {"matches": [indices]} or {"error", "stage", "position"}. \
      The position counts UTF-16 units of the condition from 0.

        cdstore filter --where "age >= %@" --args '[18]' < people.jsonl
      """)

  @Option(name: .customLong("where"), parsing: .unconditional, help: "The condition, as a format string.")
  var condition: String?

  @Option(help: "The values of %@ and %K in the condition, as a JSON list.")
  var args: String?

  @Flag(help: "Answer requests from standard input, one in each line.")
  var batch = false

  func validate() throws {
    if batch == (condition != nil) {
      throw ValidationError(batch ? "with --batch, requests have their conditions" : "--where is missing")
    }
  }

  func run() throws {
    guard let condition else { return try answer() }
    var arguments: [JSONValue] = []
    if let args {
      guard case .array(let list)? = try? JSONValue(parsing: args) else {
        throw ValidationError("--args takes a list of JSON")
      }
      arguments = list
    }
    let values = TaggedValue()
    let predicate: FetchPredicate
    do {
      predicate = try FetchPredicate(
        format: condition, arguments: try arguments.map { try values.constant($0) })
    } catch {
      throw RequestError(error, format: condition)
    }
    let evaluator = PredicateEvaluator()
    var failures = 0
    var lines = InputLines()
    while let line = try lines.next() {
      do {
        let value = EvaluationValue(try values.constant(try JSONValue(parsing: line.content)))
        guard try evaluator.matches(predicate, value) else { continue }
      } catch {
        failures += 1
        Lines.error("line \(line.number): \(error)")
        continue
      }
      let end: [UInt8] = line.bytes.last == UInt8(ascii: "\n") ? [] : [UInt8(ascii: "\n")]
      try (line.bytes + end).withUnsafeBytes { try Console.write($0) }
    }
    if failures > 0 { throw ExitCode.failure }
  }

  private func answer() throws {
    var lines = InputLines()
    while let line = try lines.next() {
      var format = ""
      let answer: JSONValue
      do {
        let json = try JSONValue(parsing: line.content)
        guard case .object = json else { throw Failure("a request is an object, not \(json.kindName)") }
        let request = RequestJSON(json: json)
        format = try request.text("where") ?? ""
        answer = try Self.matches(request, format)
      } catch {
        answer = RequestError(error, format: format).json
      }
      try Lines.write(answer.canonicalText)
    }
  }

  private static func matches(_ request: RequestJSON, _ format: String) throws -> JSONValue {
    let values = TaggedValue()
    let predicate = try FetchPredicate(
      format: format, arguments: try request.list("args").map { try values.constant($0) })
    var variables: [String: EvaluationValue] = [:]
    for variable in try request.object("variables") {
      variables[variable.key] = EvaluationValue(try values.constant(variable.value))
    }
    let evaluator = PredicateEvaluator(variables: variables)
    var matches: [JSONValue] = []
    for (place, object) in try request.list("objects").enumerated() {
      if try evaluator.matches(predicate, EvaluationValue(try values.constant(object))) {
        matches.append(.int(Int64(place)))
      }
    }
    return .object([JSONValue.Member("matches", .array(matches))])
  }
}
