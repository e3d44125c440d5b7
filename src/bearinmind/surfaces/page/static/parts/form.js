export const MemoryForm = () => null;
