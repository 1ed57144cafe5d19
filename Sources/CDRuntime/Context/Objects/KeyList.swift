/// An ordered list of distinct keys, with fast removal of any key.
///
/// The keys of new objects and those that a store returns mostly ascend. Such a list is searched in halves, and needs no
/// memory for the indices of its keys.
struct KeyList {
  /// The keys; a removed key is 0.
  private var storage: [ObjectKey] = []
  /// The index of each key, built when an index is first needed. Nil while the keys ascend.
  private var indices: [ObjectKey: Int]?
  /// Whether each key is greater than the one before it; nil if this was not needed yet.
  private var ascends: Bool?
  private(set) var count = 0

  init() {}

  init(_ keys: [ObjectKey]) {
    storage = keys
    count = keys.count
  }

  var isEmpty: Bool { count == 0 }
  var keys: [ObjectKey] { count == storage.count ? storage : storage.filter { $0 != 0 } }

  /// Adds a key that is not in the list.
  @_optimize(speed)
  mutating func append(_ key: ObjectKey) {
    if indices != nil {
      indices?[key] = storage.count
    } else if let last = storage.last, key < last {
      ascends = false
    }
    storage.append(key)
    count += 1
  }

  mutating func contains(_ key: ObjectKey) -> Bool {
    index(of: key) != nil
  }

  /// Removes a key and returns whether it was in the list.
  @discardableResult
  mutating func remove(_ key: ObjectKey) -> Bool {
    guard let index = index(of: key) else { return false }
    storage[index] = 0
    indices?[key] = nil
    ascends = false
    count -= 1
    return true
  }

  /// Inserts a key at an index, or at the end if the index is beyond it. O(n).
  mutating func insert(_ key: ObjectKey, at index: Int) {
    var keys = self.keys
    keys.insert(key, at: min(max(0, index), keys.count))
    self = KeyList(keys)
  }

  @_optimize(speed)
  private mutating func index(of key: ObjectKey) -> Int? {
    if indices == nil {
      // A short list is searched from its end.
      if storage.count <= 16 { return storage.lastIndex(of: key) }
      if ascends == nil { ascends = zip(storage, storage.dropFirst()).allSatisfy { $0 < $1 } }
      if ascends == true { return indexInAscendingKeys(of: key) }
      indices = Dictionary(
        storage.enumerated().lazy.filter { $0.element != 0 }.map { ($0.element, $0.offset) },
        uniquingKeysWith: { first, _ in first })
    }
    return indices?[key]
  }

  private func indexInAscendingKeys(of key: ObjectKey) -> Int? {
    // A new object has the greatest key.
    guard let last = storage.last, key <= last else { return nil }
    var range = 0..<storage.count
    while !range.isEmpty {
      let middle = range.lowerBound + range.count / 2
      if storage[middle] == key { return middle }
      range = storage[middle] < key ? middle + 1..<range.upperBound : range.lowerBound..<middle
    }
    return nil
  }
}
