import CDModel
import CDRuntime
import Foundation

/// A condition of a fetch, as the reference model evaluates it and as a format string says it.
indirect enum Condition: Sendable {
  enum Comparator: String, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
  }

  enum TextTest: String, Sendable, CaseIterable {
    case contains = "CONTAINS"
    case begins = "BEGINSWITH"
    case ends = "ENDSWITH"
  }

  /// Along to-one relationships to an attribute.
  case compare(path: [String], attribute: String, Comparator, AttributeValue)
  case among(path: [String], attribute: String, [AttributeValue])
  case text(path: [String], attribute: String, TextTest, String)
  /// Whether an integer has certain digits. No store decides this in SQL.
  case digits(path: [String], attribute: String, String, isEqual: Bool)
  /// Whether a to-one relationship leads to an object, or to none.
  case isRelated(path: [String], relationship: String, ObjectNumber?, isEqual: Bool)
  case any(relationship: String, attribute: String, Comparator, AttributeValue)
  case count(path: [String], relationship: String, Comparator, Int)
  case contains(relationship: String, ObjectNumber)
  case and([Condition])
  case or([Condition])
  case not(Condition)

  // MARK: - The format string

  /// The format and its arguments. An object's argument is asked for by its number.
  func format(_ arguments: inout [Argument]) -> String {
    switch self {
    case .compare(let path, let attribute, let comparator, let value):
      let key = (path + [attribute]).joined(separator: ".")
      if case .null = value { return "\(key) \(comparator.rawValue) nil" }
      arguments.append(.value(value))
      return "\(key) \(comparator.rawValue) %@"
    case .among(let path, let attribute, let values):
      arguments += values.map(Argument.value)
      let list = values.map { _ in "%@" }.joined(separator: ", ")
      return "\((path + [attribute]).joined(separator: ".")) IN {\(list)}"
    case .text(let path, let attribute, let test, let text):
      arguments.append(.value(.string(text)))
      return "\((path + [attribute]).joined(separator: ".")) \(test.rawValue) %@"
    case .digits(let path, let attribute, let digits, let isEqual):
      let key = (path + [attribute]).joined(separator: ".")
      return "CAST(\(key), 'String') \(isEqual ? "==" : "!=") '\(digits)'"
    case .isRelated(let path, let relationship, let object, let isEqual):
      let key = (path + [relationship]).joined(separator: ".")
      guard let object else { return "\(key) \(isEqual ? "==" : "!=") nil" }
      arguments.append(.object(object))
      return "\(key) \(isEqual ? "==" : "!=") %@"
    case .any(let relationship, let attribute, let comparator, let value):
      arguments.append(.value(value))
      return "ANY \(relationship).\(attribute) \(comparator.rawValue) %@"
    case .count(let path, let relationship, let comparator, let count):
      return "\((path + [relationship]).joined(separator: ".")).@count \(comparator.rawValue) \(count)"
    case .contains(let relationship, let object):
      arguments.append(.object(object))
      return "%@ IN \(relationship)"
    case .and(let parts): return parts.isEmpty ? "TRUEPREDICATE" : Self.join(parts, "AND", &arguments)
    case .or(let parts): return Self.join(parts, "OR", &arguments)
    case .not(let part): return "NOT (\(part.format(&arguments)))"
    }
  }

  private static func join(_ parts: [Condition], _ word: String, _ arguments: inout [Argument]) -> String {
    var texts: [String] = []
    for part in parts { texts.append("(\(part.format(&arguments)))") }
    return texts.joined(separator: " \(word) ")
  }

  enum Argument: Sendable {
    case value(AttributeValue)
    case object(ObjectNumber)
  }

  /// The numbers of the objects that it names.
  var objects: [ObjectNumber] {
    var arguments: [Argument] = []
    _ = format(&arguments)
    return arguments.compactMap { if case .object(let number) = $0 { number } else { nil } }
  }

  /// The names of the properties that it reads.
  var names: [String] {
    switch self {
    case .compare(let path, let attribute, _, _), .among(let path, let attribute, _),
      .text(let path, let attribute, _, _), .digits(let path, let attribute, _, _):
      path + [attribute]
    case .isRelated(let path, let relationship, _, _), .count(let path, let relationship, _, _):
      path + [relationship]
    case .any(let relationship, let attribute, _, _): [relationship, attribute]
    case .contains(let relationship, _): [relationship]
    case .and(let parts), .or(let parts): parts.flatMap(\.names)
    case .not(let part): part.names
    }
  }
}

/// Answers conditions about one state of a graph. Nil stands for what the documentation leaves open.
struct Evaluation {
  let graph: Graph
  let schema: Schema
  /// Objects of which it is open what the runtime knows.
  var open: Set<ObjectNumber> = []

  /// The end of a path: an object, none, or open.
  private enum Step {
    case object(ObjectNumber)
    case none
    case open
  }

  func isMet(_ condition: Condition, by object: ObjectNumber) -> Bool? {
    if open.contains(object) { return nil }
    switch condition {
    case .compare(let path, let attribute, let comparator, let constant):
      switch follow(path, from: object) {
      case .open: return nil
      case .none: return Self.compare(.null, comparator, constant)
      case .object(let end): return value(attribute, of: end).map { Self.compare($0, comparator, constant) }
      }
    case .among(let path, let attribute, let constants):
      switch follow(path, from: object) {
      case .open: return nil
      case .none: return false
      case .object(let end):
        return value(attribute, of: end).map { value in constants.contains { Self.compare(value, .equal, $0) }
        }
      }
    case .text(let path, let attribute, let test, let text):
      switch follow(path, from: object) {
      case .open: return nil
      case .none: return false
      case .object(let end):
        guard let value = value(attribute, of: end) else { return nil }
        guard case .string(let whole) = value else { return false }
        return Self.test(whole, test, text)
      }
    case .digits(let path, let attribute, let digits, let isEqual):
      switch follow(path, from: object) {
      case .open: return nil
      case .none: return !isEqual
      case .object(let end):
        guard let value = value(attribute, of: end) else { return nil }
        guard case .int(let number) = value else { return !isEqual }
        return (String(number) == digits) == isEqual
      }
    case .isRelated(let path, let relationship, let target, let isEqual):
      switch follow(path + [relationship], from: object) {
      case .open: return nil
      case .none: return (target == nil) == isEqual
      case .object(let end): return (end == target) == isEqual
      }
    case .any(let relationship, let attribute, let comparator, let constant):
      guard let description = schema.relationship(relationship) else { return false }
      var isOpen = false
      for member in graph.members(object, description, schema) {
        switch value(attribute, of: member).map({ Self.compare($0, comparator, constant) }) {
        case true?: return true
        case false?: break
        case nil: isOpen = true
        }
      }
      return isOpen ? nil : false
    case .count(let path, let relationship, let comparator, let count):
      guard let description = schema.relationship(relationship) else { return false }
      let number: Int
      switch follow(path, from: object) {
      case .open: return nil
      case .none: number = 0
      case .object(let end):
        if graph.isDangling(end, description, schema) { return nil }
        number = graph.members(end, description, schema).count
      }
      return Self.compare(.int(Int64(number)), comparator, .int(Int64(count)))
    case .contains(let relationship, let target):
      guard let description = schema.relationship(relationship) else { return false }
      if graph.isDangling(object, description, schema), !graph.isLive(target) { return nil }
      return graph.members(object, description, schema).contains(target)
    case .and(let parts):
      let answers = parts.map { isMet($0, by: object) }
      if answers.contains(false) { return false }
      return answers.contains(nil) ? nil : true
    case .or(let parts):
      let answers = parts.map { isMet($0, by: object) }
      if answers.contains(true) { return true }
      return answers.contains(nil) ? nil : false
    case .not(let part): return isMet(part, by: object).map { !$0 }
    }
  }

  private func follow(_ path: [String], from object: ObjectNumber) -> Step {
    var object = object
    for name in path {
      if open.contains(object) { return .open }
      guard let relationship = schema.relationship(name) else { return .none }
      if graph.isDangling(object, relationship, schema) { return .open }
      guard let next = graph.members(object, relationship, schema).first else { return .none }
      object = next
    }
    return open.contains(object) ? .open : .object(object)
  }

  /// The value of an attribute; nil where it is open.
  func value(_ attribute: String, of object: ObjectNumber) -> AttributeValue? {
    if open.contains(object) { return nil }
    guard let description = schema.attributesByName[attribute] else { return .null }
    guard let derivation = description.derivation else {
      return graph.rows[object]?.values[attribute] ?? .null
    }
    switch derivation {
    case .count(let name):
      guard let relationship = schema.relationship(name) else { return .null }
      if graph.isDangling(object, relationship, schema) { return nil }
      return .int(Int64(graph.members(object, relationship, schema).count))
    case .sum(let name, let attribute):
      guard let relationship = schema.relationship(name) else { return .null }
      if graph.isDangling(object, relationship, schema) { return nil }
      var sum: Int64 = 0
      for member in graph.members(object, relationship, schema) {
        if case .int(let number)? = graph.rows[member]?.values[attribute] { sum += number }
      }
      return .int(sum)
    case .successor(let name):
      guard case .int(let number)? = graph.rows[object]?.values[name] else { return .null }
      return .int(number + 1)
    case .path(let name, let attribute):
      guard let relationship = schema.relationship(name) else { return .null }
      if graph.isDangling(object, relationship, schema) { return nil }
      guard let target = graph.members(object, relationship, schema).first else { return .null }
      return value(attribute, of: target)
    }
  }

  /// The value at the end of a path of to-one relationships; nil where it is open.
  func value(path: [String], attribute: String, of object: ObjectNumber) -> AttributeValue? {
    switch follow(path, from: object) {
    case .open: nil
    case .none: .some(.null)
    case .object(let end): value(attribute, of: end)
    }
  }

  func count(_ relationship: String, of object: ObjectNumber) -> AttributeValue? {
    guard let description = schema.relationship(relationship) else { return .null }
    if open.contains(object) || graph.isDangling(object, description, schema) { return nil }
    return .int(Int64(graph.members(object, description, schema).count))
  }

  // MARK: - Values

  static func compare(_ left: AttributeValue, _ comparator: Condition.Comparator, _ right: AttributeValue)
    -> Bool
  {
    switch comparator {
    case .equal: return isEqual(left, right)
    case .notEqual: return !isEqual(left, right)
    case .less, .lessOrEqual, .greater, .greaterOrEqual:
      if case .null = left, case .null = right {
        return comparator == .lessOrEqual || comparator == .greaterOrEqual
      }
      guard let order = order(left, right) else { return false }
      switch comparator {
      case .less: return order < 0
      case .lessOrEqual: return order <= 0
      case .greater: return order > 0
      default: return order >= 0
      }
    }
  }

  static func isEqual(_ left: AttributeValue, _ right: AttributeValue) -> Bool {
    switch (left, right) {
    case (.double(let left), .double(let right)): left == right
    case (.date(let left), .date(let right)): left == right
    default: left == right
    }
  }

  /// Below 0 where the left one comes first; nil where one of them is nil or they have no order.
  static func order(_ left: AttributeValue, _ right: AttributeValue) -> Int? {
    func sign<T: Comparable>(_ left: T, _ right: T) -> Int { left < right ? -1 : left == right ? 0 : 1 }
    switch (left, right) {
    case (.int(let left), .int(let right)): return sign(left, right)
    case (.double(let left), .double(let right)): return sign(left, right)
    case (.decimal(let left), .decimal(let right)): return sign(left, right)
    case (.date(let left), .date(let right)): return sign(left, right)
    case (.bool(let left), .bool(let right)): return sign(left ? 1 : 0, right ? 1 : 0)
    case (.string(let left), .string(let right)):
      let (left, right) = (Array(left.unicodeScalars.map(\.value)), Array(right.unicodeScalars.map(\.value)))
      return left == right ? 0 : left.lexicographicallyPrecedes(right) ? -1 : 1
    default: return nil
    }
  }

  private static func test(_ whole: String, _ test: Condition.TextTest, _ part: String) -> Bool {
    guard !part.isEmpty else { return false }
    let (whole, part) = (Array(whole), Array(part))
    switch test {
    case .begins: return whole.starts(with: part)
    case .ends: return whole.reversed().starts(with: part.reversed())
    case .contains:
      guard whole.count >= part.count else { return false }
      return (0...(whole.count - part.count)).contains { whole[$0...].starts(with: part) }
    }
  }
}
