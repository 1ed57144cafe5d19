/// Collects the members of an object. Leaves out default values: nil, false and empty lists.
package struct JSONObjectWriter {
  package private(set) var members: [JSONValue.Member] = []

  package init() {}

  package var value: JSONValue { .object(members) }

  @inline(never)
  package mutating func add(_ key: String, _ value: JSONValue?) {
    if let value { members.append(JSONValue.Member(key, value)) }
  }

  @inline(never)
  package mutating func add(_ key: String, _ string: String?) {
    add(key, string.map(JSONValue.string))
  }

  @inline(never)
  package mutating func add(_ key: String, _ int: Int?) {
    add(key, int.map { JSONValue.int(Int64($0)) })
  }

  @inline(never)
  package mutating func add(_ key: String, flag: Bool) {
    if flag { add(key, JSONValue.bool(true)) }
  }

  @inline(never)
  package mutating func add(_ key: String, list: [JSONValue]) {
    if !list.isEmpty { add(key, JSONValue.array(list)) }
  }

  /// Adds the keys in the order of their code units, because a dictionary has no order of its own.
  @inline(never)
  package mutating func add(_ key: String, dictionary: [String: String]) {
    guard !dictionary.isEmpty else { return }
    let sorted = dictionary.ordered { $0.key.precedes($1.key) }
    add(key, JSONValue.object(sorted.map { JSONValue.Member($0.key, .string($0.value)) }))
  }
}

extension String {
  /// Compares strings by their code units. This order is the same in every version of Unicode.
  package func precedes(_ other: String) -> Bool {
    utf8.lexicographicallyPrecedes(other.utf8)
  }
}
