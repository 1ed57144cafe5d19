/// A JSON value with its path, so that errors can name the element.
package struct JSONElement {
  package let value: JSONValue
  package let path: JSONPath

  package init(_ value: JSONValue, path: JSONPath = .root) {
    self.value = value
    self.path = path
  }

  @inline(never)
  package func error(_ reason: ModelDecodingError.Reason) -> ModelDecodingError {
    ModelDecodingError(reason, path: path.description)
  }

  @inline(never)
  package func wrongKind(_ expected: String) -> ModelDecodingError {
    error(.wrongKind(expected: expected, found: value.kindName))
  }

  @inline(never)
  package func string() throws(ModelDecodingError) -> String {
    guard case .string(let result) = value else { throw wrongKind("a string") }
    return result
  }

  @inline(never)
  package func bool() throws(ModelDecodingError) -> Bool {
    guard case .bool(let result) = value else { throw wrongKind("a Boolean") }
    return result
  }

  @inline(never)
  package func int() throws(ModelDecodingError) -> Int {
    guard case .int(let number) = value else { throw wrongKind("an integer") }
    guard let result = Int(exactly: number) else {
      throw error(.invalidValue(found: String(number), expected: "an integer of \(Int.bitWidth) bits"))
    }
    return result
  }

  /// Reads a string that is a raw value of the type.
  @inline(never)
  package func word<Word: RawRepresentable<String> & CaseIterable>() throws(ModelDecodingError) -> Word {
    let text = try string()
    guard let word = Word(rawValue: text) else {
      let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
      throw error(.invalidValue(found: text, expected: "one of " + words))
    }
    return word
  }

  @inline(never)
  package func object() throws(ModelDecodingError) -> JSONObjectReader {
    guard case .object(let members) = value else { throw wrongKind("an object") }
    return JSONObjectReader(members, path: path)
  }

  @inline(never)
  package func list<Element>(
    _ decode: (JSONElement) throws(ModelDecodingError) -> Element
  ) throws(ModelDecodingError) -> [Element] {
    guard case .array(let elements) = value else { throw wrongKind("a list") }
    var result: [Element] = []
    result.reserveCapacity(elements.count)
    for (place, element) in elements.enumerated() {
      result.append(try decode(JSONElement(element, path: .element(path, place))))
    }
    return result
  }
}

/// The path from the outermost value to an inner one.
package indirect enum JSONPath: CustomStringConvertible {
  case root
  case member(JSONPath, String)
  case element(JSONPath, Int)

  package var description: String {
    switch self {
    case .root: ""
    case .member(.root, let name): name
    case .member(let outer, let name): "\(outer.description).\(name)"
    case .element(let outer, let place): "\(outer.description)[\(place)]"
    }
  }
}

/// Reads the members of an object one by one, and reports unknown members.
///
/// Members are read in the order in which the encoder writes them, so the next member is nearly always the right one.
package struct JSONObjectReader {
  private let members: [JSONValue.Member]
  private var isTaken: [Bool]
  /// The index of the first member that has not been read.
  private var first = 0
  package let path: JSONPath

  package init(_ members: [JSONValue.Member], path: JSONPath) {
    self.members = members
    self.path = path
    isTaken = [Bool](repeating: false, count: members.count)
  }

  /// The element of a member; nil if there is none.
  @inline(never)
  package mutating func optional(_ key: String) -> JSONElement? {
    for place in first..<members.count where !isTaken[place] && members[place].key == key {
      isTaken[place] = true
      while first < members.count, isTaken[first] { first += 1 }
      return JSONElement(members[place].value, path: .member(path, key))
    }
    return nil
  }

  @inline(never)
  package mutating func required(_ key: String) throws(ModelDecodingError) -> JSONElement {
    guard let element = optional(key) else {
      throw ModelDecodingError(.missingMember(key), path: path.description)
    }
    return element
  }

  @inline(never)
  package mutating func string(_ key: String) throws(ModelDecodingError) -> String? {
    try optional(key)?.string()
  }

  @inline(never)
  package mutating func int(_ key: String) throws(ModelDecodingError) -> Int? {
    try optional(key)?.int()
  }

  /// Reads a Boolean; false if the member is missing.
  @inline(never)
  package mutating func flag(_ key: String) throws(ModelDecodingError) -> Bool {
    try optional(key)?.bool() ?? false
  }

  /// Reads a list; empty if the member is missing.
  @inline(never)
  package mutating func list<Element>(
    _ key: String, _ decode: (JSONElement) throws(ModelDecodingError) -> Element
  ) throws(ModelDecodingError) -> [Element] {
    try optional(key)?.list(decode) ?? []
  }

  /// Reads free keys and values; empty if the member is missing.
  @inline(never)
  package mutating func dictionary(_ key: String) throws(ModelDecodingError) -> [String: String] {
    guard let element = optional(key) else { return [:] }
    guard case .object(let members) = element.value else { throw element.wrongKind("an object") }
    var result: [String: String] = [:]
    for member in members {
      let value = JSONElement(member.value, path: .member(element.path, member.key))
      guard result.updateValue(try value.string(), forKey: member.key) == nil else {
        throw value.error(.invalidValue(found: member.key, expected: "keys that come once"))
      }
    }
    return result
  }

  /// Reports a member that has not been read. Call this after reading all known members.
  @inline(never)
  package func finish() throws(ModelDecodingError) {
    guard first < members.count else { return }
    throw ModelDecodingError(.unknownMember(members[first].key), path: path.description)
  }
}
