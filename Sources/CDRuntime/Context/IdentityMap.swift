import CProcessor

/// The objects of one inheritance root in one context, by key.
///
/// A table with open addressing whose hash is the key itself: keys come in sequence, so that neighbours in the table
/// are neighbours in memory. If keys have a pattern that this hash piles up, such as multiples of a power of two,
/// probes become long: the table then uses a scattering hash until it grows.
///
/// An entry holds the key beside the object, so that probing and growing do not touch objects: the cost of a lookup
/// among many objects is the number of memory locations that it visits.
///
/// The map keeps its objects alive. When their number has doubled, a sweep releases objects that have no changes and
/// that no other code holds.
final class IdentityMap {
  /// All bits of an empty entry are zero.
  private struct Entry {
    /// 0 in an empty entry.
    var key: ObjectKey
    /// A strong reference, counted manually: moving entries when the table grows then needs no reference counting.
    var object: Unmanaged<ManagedObject>?
  }

  private var entries: UnsafeMutablePointer<Entry>
  private var capacity: Int
  private var mask: Int
  private(set) var count = 0
  private var isScattered = false
  /// The sum of the entries' probe lengths.
  private var passed = 0
  /// The longest probe length of an entry so far.
  private var longest = 0
  /// The count at which the next sweep is due.
  private var sweepCount = 2048

  private static let smallest = 64
  private static let longProbe = 48

  init() {
    capacity = Self.smallest
    mask = capacity - 1
    entries = Self.allocate(capacity)
  }

  deinit { Self.release(entries, capacity) }

  private static func allocate(_ capacity: Int) -> UnsafeMutablePointer<Entry> {
    let memory = TableMemory.allocate(capacity * MemoryLayout<Entry>.stride)
    return memory.bindMemory(to: Entry.self, capacity: capacity)
  }

  private static func deallocate(_ entries: UnsafeMutablePointer<Entry>, _ capacity: Int) {
    TableMemory.deallocate(entries, capacity * MemoryLayout<Entry>.stride)
  }

  private static func release(_ entries: UnsafeMutablePointer<Entry>, _ capacity: Int) {
    for index in 0..<capacity { entries[index].object?.release() }
    deallocate(entries, capacity)
  }

  @inline(__always) private func start(_ key: ObjectKey) -> Int {
    let bits = Int(truncatingIfNeeded: key)
    if !isScattered { return bits & mask }
    let product = UInt(bitPattern: bits) &* 0x9E37_79B9_7F4A_7C15
    return Int(truncatingIfNeeded: product >> 20) & mask
  }

  @inline(__always) subscript(key: ObjectKey) -> ManagedObject? {
    var index = start(key)
    while true {
      let found = entries[index].key
      if found == key { return entries[index].object?.takeUnretainedValue() }
      if found == 0 { return orphans == nil ? nil : adopt(key) }
      index = (index &+ 1) & mask
    }
  }

  /// Objects that have outlived the context before this one; nil in the map of a context that the app has created.
  var orphans: OrphanTable?

  /// Moves an object that has outlived its context into this map.
  private func adopt(_ key: ObjectKey) -> ManagedObject? {
    guard let object = orphans?.take(key) else { return nil }
    insert(object)
    return object
  }

  /// Moves all objects that have outlived their context into this map.
  func adoptAll() {
    guard let orphans, !orphans.isEmpty else { return }
    for object in orphans.takeAll() { insert(object) }
  }

  /// Releases all objects.
  ///
  /// - Returns: The objects that other code holds.
  func disown() -> OrphanTable? {
    var table = orphans
    let held = count
    let (old, oldCapacity) = takeEntries()
    for index in 0..<oldCapacity {
      guard let object = old[index].object else { continue }
      if !Self.isOnlyReference(&old[index].object) {
        if table == nil {
          table = OrphanTable()
          table?.expect(held)
        }
        table?.add(object.takeUnretainedValue())
      }
    }
    Self.release(old, oldCapacity)
    return table?.isEmpty == false ? table : nil
  }

  /// Whether the previous row's object was missing in the map: the next row's object then probably is too.
  var missedLast = false

  /// Prefetches the memory of a key's entry. Entries of keys that are not in sequence are far apart, and waiting for
  /// their memory takes as long as reading a few columns.
  @inline(__always) func prefetch(_ key: ObjectKey) { cprocessor_prefetch(entries + start(key)) }

  /// Whether enough objects have been added since the last sweep for another one.
  var isSweepDue: Bool { count >= sweepCount }

  /// Records how many objects other code holds: a sweep among them would release few.
  func expectHeld(_ held: Int) {
    if held * 2 > count { sweepCount = max(sweepCount, count * 2) }
  }

  /// Adds an object whose key is not in the map.
  @inline(__always) func insert(_ object: ManagedObject) {
    // Keys in sequence do not collide, however full the table is. Other keys need more free entries.
    let isFull =
      passed &* 8 > count ? (count &+ 1) &* 2 > capacity : (count &+ 1) &* 16 > capacity &* 15
    if isFull { resize(to: capacity &* 2) }
    let probes = insertEntry(Entry(key: object.key, object: Unmanaged.passRetained(object)))
    if probes > Self.longProbe, !isScattered { scatter() }
  }

  /// Adds a reference that is already counted.
  ///
  /// - Returns: The probe length.
  @inline(__always) private func insertEntry(_ entry: Entry) -> Int {
    var index = start(entry.key)
    var probes = 0
    while entries[index].key != 0 {
      index = (index &+ 1) & mask
      probes &+= 1
    }
    entries[index] = entry
    count &+= 1
    passed &+= probes
    if probes > longest { longest = probes }
    return probes
  }

  private func scatter() {
    resize(to: count * 4 > capacity * 3 ? capacity * 2 : capacity, isScattered: true)
  }

  /// - Parameter isScattered: Whether to use the scattering hash. If false, the table still uses it where the keys
  ///   would pile up: keys that pile up in a small table may be in sequence in a large one.
  private func resize(to newCapacity: Int, isScattered: Bool = false) {
    let (old, oldCapacity) = (entries, capacity)
    capacity = newCapacity
    mask = newCapacity - 1
    entries = Self.allocate(newCapacity)
    self.isScattered = isScattered
    if !fill(from: old, oldCapacity) {
      Self.deallocate(entries, newCapacity)
      entries = Self.allocate(newCapacity)
      self.isScattered = true
      _ = fill(from: old, oldCapacity)
    }
    Self.deallocate(old, oldCapacity)
  }

  /// Moves the entries of another table into this one, which is empty.
  ///
  /// - Returns: Whether all entries were moved; false if the keys pile up under the plain hash.
  private func fill(from old: UnsafeMutablePointer<Entry>, _ oldCapacity: Int) -> Bool {
    count = 0
    passed = 0
    longest = 0
    for number in 0..<oldCapacity where old[number].key != 0 {
      let probes = insertEntry(old[number])
      if !isScattered, probes > Self.longProbe || passed > 64 + count { return false }
    }
    return true
  }

  func remove(_ key: ObjectKey) {
    var hole = start(key)
    while entries[hole].key != key {
      if entries[hole].key == 0 {
        orphans?.remove(key)
        return
      }
      hole = (hole &+ 1) & mask
    }
    let removed = entries[hole].object
    entries[hole] = Entry(key: 0, object: nil)
    count &-= 1
    // Entries that were pushed behind the hole move up, so that probes need no marks for removed entries. An entry
    // farther from the hole than the longest probe cannot have been pushed: keys in sequence fill the table without a
    // gap, and walking to the end of such a run for each key would take as long as the run.
    var next = (hole &+ 1) & mask
    while entries[next].key != 0, (next &- hole) & mask <= longest {
      let ideal = start(entries[next].key)
      if (next &- ideal) & mask >= (next &- hole) & mask {
        entries[hole] = entries[next]
        entries[next] = Entry(key: 0, object: nil)
        hole = next
      }
      next = (next &+ 1) & mask
    }
    // Released last, because a `deinit` of the app's class may use the context.
    removed?.release()
  }

  /// Releases objects that have no changes and that no other code holds.
  @_optimize(speed)
  func sweep() {
    var dropped: [Unmanaged<ManagedObject>] = []
    for index in 0..<capacity where isUnused(at: index) {
      if let object = entries[index].object { dropped.append(object) }
      entries[index] = Entry(key: 0, object: nil)
    }
    var needed = Self.smallest
    while (count - dropped.count) * 2 > needed { needed *= 2 }
    // The other entries must be placed again in any case: probes must not end at removed entries.
    resize(to: needed)
    sweepCount = max(2048, count * 2)
    // Released last, because a `deinit` of the app's class may use the context.
    for object in dropped { object.release() }
  }

  /// Releases one object if it has no changes and no other code holds it.
  func release(_ key: ObjectKey) {
    if isUnused(key) { remove(key) }
  }

  /// Postpones the next sweep until the objects have doubled, as after a sweep.
  func postponeSweep() { sweepCount = max(2048, count * 2) }

  /// Counts the unused objects of a sample.
  func sampleOfUnused() -> (seen: Int, unused: Int) {
    var (seen, unused) = (0, 0)
    // Scattered indices: held objects may follow a pattern of keys.
    for number in 0..<512 {
      let index = Int(truncatingIfNeeded: UInt(number) &* 0x9E37_79B9_7F4A_7C15 >> 20) & mask
      if entries[index].key == 0 { continue }
      seen += 1
      if isUnused(at: index) { unused += 1 }
    }
    return (seen, unused)
  }

  /// Whether the object of a key has no changes and no other code holds it.
  func isUnused(_ key: ObjectKey) -> Bool {
    var index = start(key)
    while entries[index].key != key {
      if entries[index].key == 0 { return false }
      index = (index &+ 1) & mask
    }
    return isUnused(at: index)
  }

  /// Whether an entry's object has no changes and no other code holds it.
  private func isUnused(at index: Int) -> Bool {
    guard entries[index].key != 0, let object = entries[index].object else { return false }
    return Self.isOnlyReference(&entries[index].object) && !object.takeUnretainedValue().isPending
  }

  /// Whether no other code holds an entry's object. The check looks only at the reference count: the entry is a
  /// strong reference in all but its type.
  private static func isOnlyReference(_ object: inout Unmanaged<ManagedObject>?) -> Bool {
    withUnsafeMutablePointer(to: &object) {
      $0.withMemoryRebound(to: ManagedObject.self, capacity: 1) { isKnownUniquelyReferenced(&$0.pointee) }
    }
  }

  /// The objects, in no order.
  var objects: [ManagedObject] {
    adoptAll()
    var objects: [ManagedObject] = []
    objects.reserveCapacity(count)
    for index in 0..<capacity {
      if let object = entries[index].object { objects.append(object.takeUnretainedValue()) }
    }
    return objects
  }

  func removeAll() {
    let (old, oldCapacity) = takeEntries()
    Self.release(old, oldCapacity)
  }

  /// Empties the map. The map is valid before any object is released, because the object's `deinit` may use it.
  ///
  /// - Returns: The former entries, which the caller releases.
  private func takeEntries() -> (UnsafeMutablePointer<Entry>, Int) {
    defer {
      orphans = nil
      capacity = Self.smallest
      mask = capacity - 1
      (count, passed, longest, isScattered) = (0, 0, 0, false)
      entries = Self.allocate(capacity)
    }
    return (entries, capacity)
  }
}
